"""The states of a server in which forms are compared: idle and lightly used ones, and where to look for the worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from topology.placements import Placement

State = int
"""Bit i set: the NPU at position i of the slice is free."""

LIGHT = (1, 2, 3, 4)
"""NPUs in use on a lightly used server."""

EACH = 3


def light(placement: Placement, order: Sequence[int]) -> tuple[State, ...]:
    """States with a few NPUs in use in which the placement still fits: the first ones of the slice, and some by lot.

    The lots are drawn from a fixed seed, so that the same server gives the same form everywhere.
    """
    everything = (1 << len(order)) - 1
    place = {id: position for position, id in enumerate(order)}
    pools = [
        [sum(1 << place[id] for id in unit) for unit in placement.units if unit <= pool] for pool in placement.pools
    ]
    need = placement.count // placement.unit_size
    dice = Random("lightly used")  # noqa: S311 - reproducible is what it must be
    found: list[State] = []
    for busy in LIGHT:
        if busy > len(order) - placement.count:
            break
        lots = [range(busy), *(dice.sample(range(len(order)), busy) for _ in range(EACH))]
        for taken in lots:
            state = everything & ~sum(1 << position for position in taken)
            fits = any(sum(unit & state == unit for unit in units) >= need for units in pools)
            if fits and state not in found:
                found.append(state)
    return tuple(found)


def starts(placement: Placement, groups: Sequence[Sequence[frozenset[int]]], order: Sequence[int]) -> Iterator[State]:
    """Where a climb to the worst state begins: groups that are each a little short of what is asked of them.

    groups: partitions of the NPUs by what the claim matches.
    """
    everything = (1 << len(order)) - 1
    place = {id: position for position, id in enumerate(order)}
    seen: set[State] = set()

    def without(ids: Sequence[int]) -> Iterator[State]:
        state = everything & ~sum(1 << place[id] for id in ids)
        if state not in seen:
            seen.add(state)
            yield state

    for partition in groups:
        yield from without([max(group) for group in partition])
        short = [sorted(group)[placement.count - 1 :] for group in partition]
        yield from without([id for group in short for id in group])
    yield from without([order[-1]])
    need = placement.count // placement.unit_size
    units = sorted(placement.units, key=min)
    yield from without([max(unit) for unit in units[need - 1 :]])
    yield from without([(max, min)[n % 2](unit) for n, unit in enumerate(units[need - 1 :])])
    yield from without(list(order[placement.count - 1 :]))
