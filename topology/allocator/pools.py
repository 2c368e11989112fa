"""The pools a node can take devices from, in the order in which the allocator tries them (pools_incubating.go)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from topology.allocator.errors import Unmodelled
from topology.allocator.nodes import node_matches
from topology.allocator.objects import Device, Node, Slice
from topology.allocator.versions import Version

CounterSets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Pool:
    """slices: those for the node, in order. elsewhere: of other nodes; their devices use up the same counters.

    incomplete: slices are missing. invalid: why nothing may be given out of it, or empty.
    """

    driver: str
    name: str
    incomplete: bool = False
    invalid: str = ""
    slices: tuple[Slice, ...] = ()
    elsewhere: tuple[Slice, ...] = ()
    counters: CounterSets | None = None

    @property
    def id(self) -> str:
        """As the scheduler's messages spell it."""
        return f"{self.driver}/{self.name}"


def gather(slices: Sequence[Slice], node: Node, version: Version) -> list[Pool]:
    """Every pool with a slice for the node. Before 1.36 their order is the scheduler's chance; here that of the slices.

    Unmodelled for a node selector that the API server would refuse, and for slices that contradict each other.
    """
    # Slices of this node come first: the first of a pool says how many it should have.
    own = [slice for slice in slices if slice.node_name == node.name]
    shared = [slice for slice in slices if not slice.node_name]
    if version.counters_everywhere:
        own = [slice for slice in own if not slice.counters]
        shared = [slice for slice in slices if not slice.node_name or slice.counters]
    found: dict[tuple[str, str], list[Slice]] = {}
    for slice in (*own, *shared) if version.ordered else slices:
        if relevant(slice, node, version):
            _add(found, slice)
    pools = [pool for slices_of in found.values() if (pool := _pool(slices_of, slices, version)) is not None]
    if not version.ordered:
        return pools
    return sorted(pools, key=lambda pool: (_binds(pool), pool.driver.encode(), pool.name.encode()))


def relevant(slice: Slice, node: Node, version: Version) -> bool:
    """Whether the node may see the slice."""
    if version.counters_everywhere and slice.counters:
        return True
    if slice.node_name or slice.all_nodes or slice.node_selector is not None:
        return node_matches(node, slice.node_name, slice.all_nodes, slice.node_selector)
    return bool(slice.per_device) and any(device_matches(node, device) for device in slice.devices)


def device_matches(node: Node, device: Device) -> bool:
    """For slices that select nodes device by device."""
    return node_matches(node, device.node_name, device.all_nodes, device.node_selector)


def _add(found: dict[tuple[str, str], list[Slice]], slice: Slice) -> None:
    known = found.setdefault((slice.driver, slice.pool), [])
    if known and slice.generation < known[0].generation:
        return
    if known and slice.generation > known[0].generation:
        known.clear()
    known.append(slice)


def _pool(own: list[Slice], every: Sequence[Slice], version: Version) -> Pool | None:
    """None where a newer generation exists that has nothing for this node."""
    first = own[0]
    if len({slice.slice_count for slice in own}) > 1:
        # The scheduler believes the first, and keeps slices in no order.
        raise Unmodelled(f"resource pool {first.driver}/{first.pool}, whose slices disagree on how many they are")
    incomplete = Pool(first.driver, first.pool, incomplete=True)
    if len(own) == first.slice_count:
        return _build(own, (), version)
    if not version.looks_beyond_node:
        # 1.34 gives out of it all the same, if it is asked for a count.
        built = _build(own, (), version)
        return Pool(built.driver, built.name, True, built.invalid, built.slices)
    of_pool = [slice for slice in every if (slice.driver, slice.pool) == (first.driver, first.pool)]
    if any(slice.generation > first.generation for slice in of_pool):
        return None
    current = [slice for slice in of_pool if slice.generation == first.generation]
    if len(current) != first.slice_count:
        return incomplete
    return _build(own, current, version)


def _build(own: list[Slice], every: Sequence[Slice], version: Version) -> Pool:
    driver, name = own[0].driver, own[0].pool
    if version.ordered:
        own = sorted(own, key=lambda slice: slice.name.encode())
    names = {slice.name for slice in own}
    # Should own be no smaller than every, the Go code does not look for others at all.
    others = [slice for slice in every if slice.name not in names] if len(own) < len(every) else []
    devices = tuple(slice for slice in own if not (slice.counters and version.betas))
    elsewhere = tuple(slice for slice in others if not slice.counters)
    twice = _twice(device.name for slice in devices for device in slice.devices)
    if twice:
        return Pool(driver, name, invalid=f"duplicate device name {twice}")
    if not version.betas:
        return Pool(driver, name, slices=devices)
    sets = [pair for slice in (*own, *others) for pair in slice.counters]
    twice = _twice(counter_set for counter_set, _ in sets)
    if twice:
        return Pool(driver, name, invalid=f"duplicate counter set name {twice}")
    counters = dict(sets)
    missing = _missing(counters, (*devices, *elsewhere))
    if missing:
        return Pool(driver, name, invalid=missing)
    return Pool(driver, name, slices=devices, elsewhere=elsewhere, counters=counters)


def _twice(names: Iterable[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _missing(counters: CounterSets, slices: Iterable[Slice]) -> str:
    for slice in slices:
        for device in slice.devices:
            for counter_set, consumed in device.consumes:
                if counter_set not in counters:
                    return f"counter set {counter_set} not found"
                for counter in consumed:
                    if counter not in counters[counter_set]:
                        return f"counter {counter} not found in counter set {counter_set}"
    return ""


def _binds(pool: Pool) -> bool:
    return any(device.binding_conditions for slice in pool.slices for device in slice.devices)
