"""Which sets of NPUs a job of a given size may be given, the best first; derived from the groups, never from a model.

A placement is a choice of whole units from one pool. Units are single NPUs, the dies of a module, mirrored pairs or
whole rings; pools are what the units must lie in together. MindCluster's rules (facts: ascend-for-volcano) are what the
tests compare this with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from topology.groups import Groups, Partition, groups, members
from topology.model import Relation, Server
from topology.promise import Keeps, Promise


@dataclass(frozen=True)
class Placement:
    """The sets of `count` NPUs that are the union of whole `units` within one of the `pools`.

    shape: a word for a template's name. units: disjoint sets of ids, all of one size. pools: sets of ids.
    """

    count: int
    shape: str
    keeps: tuple[Keeps, ...]
    units: tuple[frozenset[int], ...]
    pools: tuple[frozenset[int], ...]

    @property
    def unit_size(self) -> int:
        return len(self.units[0])

    @property
    def promise(self) -> Promise:
        return Promise(self.count, self.keeps)

    def sets(self) -> Iterator[frozenset[int]]:
        """Every allowed set, pool by pool. Up to C(16, 8) = 12,870 of them on a server of 16."""
        for pool in self.pools:
            inside = [unit for unit in self.units if unit <= pool]
            for chosen in combinations(inside, self.count // self.unit_size):
                yield frozenset().union(*chosen)


@dataclass(frozen=True)
class Choice:
    """What a job of `count` may be given. tiers: the best first, each allows more than the one before.

    strict: how many of the tiers, from the best, are good enough to be promised by themselves; the rest is only what a
    prioritized list may fall back to.
    """

    count: int
    tiers: tuple[Placement, ...]
    strict: int


def numa_partition(server: Server) -> Partition | None:
    """NUMA nodes by the kernel's numbers where all are known, else by CPU list; None where that tells nothing apart."""
    by_number = {npu.id: npu.numa_node for npu in server.npus}
    found: Partition = by_number if None not in by_number.values() else groups(server).numa
    if None in found.values() or len(set(found.values())) < 2:
        return None
    return found


def choices(server: Server) -> tuple[Choice, ...]:
    """For every count that a job may ask of this server, in rising order, what it may be given."""
    found = [_choice(server, groups(server), count) for count in range(1, len(server.npus) + 1)]
    return tuple(choice for choice in found if choice is not None)


def _choice(server: Server, made: Groups, count: int) -> Choice | None:
    if members(made.sio):
        tiers = _modules(server, made, count)
        return Choice(count, tiers, len(tiers)) if tiers else None
    rings = members(made.ring)
    if not rings:
        tiers = _ladder(server, made, count)
        return Choice(count, tiers, 1)
    largest = max(map(len, rings))
    if count <= largest:
        tiers = _ladder(server, made, count)
        strict = sum(1 for tier in tiers if Keeps.ONE_RING in tier.keeps) or 1
        return Choice(count, tiers, strict)
    beyond = _beyond_a_ring(server, made, count)
    return Choice(count, beyond, 1) if beyond else None


def _ladder(server: Server, made: Groups, count: int) -> tuple[Placement, ...]:
    """Single NPUs from pools that grow: ring and NUMA node, ring, PCIe switch, NUMA node, the server."""
    everything = frozenset(server.ids)
    rings, switches = members(made.ring), members(made.pix)
    numa = numa_partition(server)
    nodes = members(numa) if numa is not None else ()
    crossed = [ring & node for ring in rings for node in nodes]
    rungs: list[tuple[str, tuple[Keeps, ...], Sequence[frozenset[int]]]] = [
        ("ring-numa", (Keeps.ONE_RING, Keeps.ONE_NUMA), crossed),
        ("ring", (Keeps.ONE_RING,), rings),
        ("switch", (Keeps.ONE_SWITCH,), switches),
        ("numa", (Keeps.ONE_NUMA,), nodes),
        ("any", (), (everything,)),
    ]
    if count == 1:
        rungs = rungs[-1:]
    units = tuple(frozenset({id}) for id in server.ids)
    tiers: list[Placement] = []
    seen: list[set[frozenset[int]]] = []
    for shape, keeps, pools in rungs:
        fitting = {pool for pool in pools if len(pool) >= count}
        # A rung that allows nothing new says less for the same sets.
        if not fitting or any(_within(fitting, former) for former in seen):
            continue
        seen.append(fitting)
        whole = (Keeps.WHOLE_SERVER,) if count == len(everything) else ()
        tiers.append(Placement(count, shape, (*keeps, *whole), units, tuple(sorted(fitting, key=min))))
    return tuple(tiers)


def _within(pools: set[frozenset[int]], former: set[frozenset[int]]) -> bool:
    return all(any(pool <= other for other in former) for pool in pools)


def _modules(server: Server, made: Groups, count: int) -> tuple[Placement, ...]:
    """Whole modules on a server of two-die modules; one die alone; no odd number, which would split a module."""
    everything = frozenset(server.ids)
    if count == 1:
        return (Placement(1, "any", (), tuple(frozenset({id}) for id in server.ids), (everything,)),)
    units = tuple(module for module in members(made.sio) if len(module) == 2)
    if count % 2 or count > 2 * len(units):
        return ()
    numa = numa_partition(server)
    nodes = members(numa) if numa is not None else ()
    tiers: list[Placement] = []
    whole = (Keeps.WHOLE_DIES, Keeps.WHOLE_SERVER) if count == len(everything) else (Keeps.WHOLE_DIES,)
    near = tuple(node for node in nodes if sum(2 for unit in units if unit <= node) >= count)
    if near:
        tiers.append(Placement(count, "dies-numa", (Keeps.WHOLE_DIES, Keeps.ONE_NUMA), units, near))
    return (*tiers, Placement(count, "dies", whole, units, (everything,)))


def _beyond_a_ring(server: Server, made: Groups, count: int) -> tuple[Placement, ...]:
    """More than a ring holds: mirrored pairs where PIX partners span the rings, else whole rings, else the server."""
    everything = frozenset(server.ids)
    singles = tuple(frozenset({id}) for id in server.ids)
    rings = members(made.ring)
    if count == len(everything):
        return (Placement(count, "server", (Keeps.WHOLE_SERVER,), singles, (everything,)),)
    partners = members(made.pix)
    if partners and all(_mirrors(partner, rings) for partner in partners):
        if count % len(rings) == 0 and count <= len(rings) * len(partners):
            return (Placement(count, "mirrored", (Keeps.MIRRORED, Keeps.EVEN_RINGS), partners, (everything,)),)
        return ()
    sizes = {len(ring) for ring in rings}
    if len(sizes) == 1 and count % min(sizes) == 0 and count <= sum(map(len, rings)):
        return (Placement(count, "rings", (Keeps.WHOLE_RINGS,), rings, (everything,)),)
    # UB joins cards that also work over PCIe alone, so such a server takes other counts too, near each other at best.
    if any(Relation.UB in row for row in server.relations):
        return _ladder(server, made, count)
    return ()


def _mirrors(partners: frozenset[int], rings: Sequence[frozenset[int]]) -> bool:
    return len(partners) == len(rings) == 2 and all(len(partners & ring) == 1 for ring in rings)
