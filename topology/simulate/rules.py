"""What a job of a given size may be given, as sets of bits over a server's NPUs in a given order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from topology.errors import TopologyError
from topology.model import Server
from topology.placements import Placement, choices
from topology.promise import Promise, broken


class Strictness(StrEnum):
    """Which of a count's strict promises a job asks for.

    WIDEST: the one that allows most, which on known servers is MindCluster's rule (a Box16: one ring).
    TIGHTEST: that of the template with the plain name (a Box16, up to four: one ring and one NUMA node).
    """

    WIDEST = "widest"
    TIGHTEST = "tightest"


def placements(server: Server, strictness: Strictness) -> Mapping[int, Placement]:
    """Count → the placement that a job of so many is promised."""
    return {
        choice.count: choice.tiers[choice.strict - 1 if strictness is Strictness.WIDEST else 0]
        for choice in choices(server)
    }


def chosen_placements(server: Server, strictness: Strictness, counts: Sequence[int]) -> Mapping[int, Placement]:
    """Those for the counts of a mix. TopologyError for a count that the server does not offer."""
    offered = placements(server, strictness)
    for count in counts:
        if count not in offered:
            raise TopologyError(
                f"{server.name} offers no {count} NPUs to a job.",
                remedy=f"Write a mix of {', '.join(map(str, offered))}.",
            )
    return {count: offered[count] for count in sorted(counts)}


def bits(ids: frozenset[int] | Sequence[int], order: Sequence[int]) -> int:
    """The NPUs as bits, bit i for the one at position i of the order."""
    place = {id: position for position, id in enumerate(order)}
    return sum(1 << place[id] for id in ids)


@dataclass(frozen=True)
class Rule:
    """A placement in bits. pools: for each the units inside it, lowest first. size: NPUs in a unit; need: units."""

    count: int
    size: int
    pools: tuple[tuple[int, ...], ...]

    @property
    def need(self) -> int:
        return self.count // self.size

    @classmethod
    def of(cls, placement: Placement, order: Sequence[int]) -> Rule:
        pools = []
        for pool in placement.pools:
            pools.append(tuple(sorted(bits(unit, order) for unit in placement.units if unit <= pool)))
        return cls(placement.count, placement.unit_size, tuple(pools))

    def free_units(self, free: int) -> list[list[int]]:
        """For each pool the units that are wholly free."""
        return [[unit for unit in pool if unit & free == unit] for pool in self.pools]

    def most(self, free: int) -> int:
        """How many such jobs fit at once into what is free; exact, because pools do not overlap."""
        return sum(len(units) // self.need for units in self.free_units(free))

    def sets(self, free: int) -> Iterator[int]:
        """The allowed sets that are free."""
        for units in self.free_units(free):
            for chosen in combinations(units, self.need):
                yield sum(chosen)


class Judge:
    """Whether a set keeps a promise, by topology.promise, which shares no code with what chose the set."""

    def __init__(self, server: Server, order: Sequence[int], promises: Mapping[int, Promise]) -> None:
        self._server, self._order, self._promises = server, order, promises
        self._known: dict[int, bool] = {}

    def keeps(self, count: int, chosen: int) -> bool:
        known = self._known.get(chosen)
        if known is None:
            ids = [id for position, id in enumerate(self._order) if chosen >> position & 1]
            known = self._known[chosen] = not broken(self._server, ids, self._promises[count])
        return known
