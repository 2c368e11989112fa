"""A placement's units by NUMA node, and what every choice of so many of them has in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from topology.groups import members
from topology.placements import Placement, numa_partition
from topology.vocabulary import Vocabulary

Units = list[frozenset[int]]


def by_node(vocabulary: Vocabulary, placement: Placement) -> list[Units]:
    """The units of each NUMA node, in order of their lowest id. Empty where nodes do not split them evenly."""
    units = ordered(placement)
    numa = numa_partition(vocabulary.server)
    nodes = members(numa) if numa is not None else ()
    found = [[unit for unit in units if unit <= node] for node in nodes]
    even = len({len(group) for group in found}) == 1 and sum(map(len, found)) == len(units)
    return found if even and len(found) > 1 and vocabulary.profile.numa is not None else []


def ordered(placement: Placement) -> Units:
    return sorted(placement.units, key=min)


def runs(groups: int, size: int, wanted: int) -> Iterator[tuple[int, ...]]:
    """How many of `wanted` units from groups of one size may be asked to lie in one group together, and how many more.

    Each is a falling tuple of at least twos that every possible split over the groups has room for: of two groups of
    four, six units are four and two or three and three, and both have room for (3, 2).
    """
    splits = list(_splits(wanted, size, groups))
    for run in _falling(wanted, size):
        if all(_has_room(split, run) for split in splits):
            yield run


def _splits(wanted: int, largest: int, groups: int) -> Iterator[tuple[int, ...]]:
    if groups == 0:
        if wanted == 0:
            yield ()
        return
    for first in range(min(wanted, largest), -1, -1):
        for rest in _splits(wanted - first, first, groups - 1):
            yield (first, *rest)


def _falling(wanted: int, largest: int) -> Iterator[tuple[int, ...]]:
    for first in range(min(wanted, largest), 1, -1):
        yield (first,)
        for rest in _falling(wanted - first, first):
            yield (first, *rest)


@cache
def _has_room(split: tuple[int, ...], run: Sequence[int]) -> bool:
    """Whether the runs can each lie in one group of the split."""
    if not run:
        return True
    return any(
        there >= run[0] and _has_room((*split[:i], there - run[0], *split[i + 1 :]), run[1:])
        for i, there in enumerate(split)
    )
