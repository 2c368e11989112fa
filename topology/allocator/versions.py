"""What differs between the allocators of Kubernetes 1.34 to 1.37, with the feature gates that are on by default.

Read in k8s.io/dynamic-resource-allocation v0.34.13, v0.35.10, v0.36.5 and v0.37.2, structured/internal/incubating:
that is the variant which the default gates of each of them select.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Version:
    """One minor version's allocator.

    combinations: within a request only combinations of devices are tried, not permutations (kubernetes#133678).
    ordered: pools go by driver and name, slices by name. Before, they go in the order of a Go map: none.
    betas: taints, counters, shared capacity, binding conditions and distinctAttribute are on.
    skips_bad_pools: a request with a count passes over incomplete and invalid pools.
    looks_beyond_node: whether a pool is complete is judged with the slices of other nodes, too.
    counters_everywhere: slices with shared counters count for every node, whatever they select.
    distinct_by_request: distinctAttribute remembers one value a request, not one a device (kubernetes#140438).
    all_by_static_capacity: `All` leaves out devices that could never hold the request; before, those that are full.
    strict_capacity: a request that cannot be rounded in 64 bits is an error.
    fractional_ranges: ranges of capacity are stepped in thousandths.
    bare_shares_count: a share of which no capacity is recorded makes its device one in use.
    all_subrequests_mixed: two slips with subrequests in the mode `All`, see prepare.py.
    """

    name: str
    combinations: bool
    ordered: bool
    betas: bool
    skips_bad_pools: bool
    looks_beyond_node: bool
    counters_everywhere: bool
    distinct_by_request: bool
    all_by_static_capacity: bool
    strict_capacity: bool
    fractional_ranges: bool
    bare_shares_count: bool
    all_subrequests_mixed: bool


def _permuting(name: str, *, skips_bad_pools: bool, looks_beyond_node: bool) -> Version:
    return Version(
        name=name,
        combinations=False,
        ordered=False,
        betas=False,
        skips_bad_pools=skips_bad_pools,
        looks_beyond_node=looks_beyond_node,
        counters_everywhere=False,
        distinct_by_request=False,
        all_by_static_capacity=False,
        strict_capacity=False,
        fractional_ranges=False,
        bare_shares_count=False,
        all_subrequests_mixed=True,
    )


def _combining(name: str, *, newest: bool) -> Version:
    return Version(
        name=name,
        combinations=True,
        ordered=True,
        betas=True,
        skips_bad_pools=True,
        looks_beyond_node=True,
        counters_everywhere=not newest,
        distinct_by_request=not newest,
        all_by_static_capacity=newest,
        strict_capacity=newest,
        fractional_ranges=newest,
        bare_shares_count=newest,
        all_subrequests_mixed=False,
    )


VERSIONS = {
    version.name: version
    for version in (
        _permuting("1.34", skips_bad_pools=False, looks_beyond_node=False),
        _permuting("1.35", skips_bad_pools=True, looks_beyond_node=True),
        _combining("1.36", newest=False),
        _combining("1.37", newest=True),
    )
}
NEWEST = VERSIONS["1.37"]
