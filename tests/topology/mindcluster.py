"""MindCluster's rules for NPUs inside a server, as data to compare our placements with.

Source: Ascend mind-cluster, ascend-for-volcano and its scheduling manual (22bb3d987bc0, 2026-08-21).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Allowed = Callable[[frozenset[int]], bool]


def within(size: int) -> Allowed:
    """All in one group of `size` consecutive ids."""
    return lambda ids: len({id // size for id in ids}) == 1


def whole(size: int) -> Allowed:
    """Whole groups of `size` consecutive ids."""
    return lambda ids: len(ids) == size * len({id // size for id in ids})


def mirrored(ids: frozenset[int]) -> bool:
    """The same relative positions in both rings: left id + 8 = right id."""
    return {id - 8 for id in ids if id >= 8} == {id for id in ids if id < 8}


def anything(ids: frozenset[int]) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """allowed: count → whether a set of that many ids may be given. beyond: counts that we offer and MindCluster does
    not, because its rule is one of a model and not of the wiring."""

    policy: str
    allowed: Mapping[int, Allowed]
    beyond: frozenset[int] = frozenset()


BOX16 = Rule(
    "chip8-node16",
    {**dict.fromkeys(range(1, 9), within(8)), **dict.fromkeys((10, 12, 14), mirrored), 16: anything},
)
A2 = Rule("chip8-node8", dict.fromkeys(range(1, 9), anything))
A3 = Rule("chip2-node16", {1: anything, **dict.fromkeys((2, 4, 6, 8), whole(2))})
I300_PRO = Rule("any count", dict.fromkeys(range(1, 9), anything))
CARD_350_4P = Rule(
    "chip4-node8", {**dict.fromkeys((1, 2, 3, 4), within(4)), **dict.fromkeys((5, 6, 7), anything), 8: anything}
)
CARD_350_1P = Rule("chip1-node8", dict.fromkeys(range(1, 9), anything))
# MindCluster refuses 3 on 910A; three of a linked quad are as near as three of a 350's quad, where it allows them.
A800_9000 = Rule("chip4-node8", {**dict.fromkeys((1, 2, 4), within(4)), 8: anything}, beyond=frozenset({3}))
