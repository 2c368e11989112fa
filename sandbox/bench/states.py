"""The states of a Box16 in which a claim is tried, by count: which NPUs are free, the others being held.

A fragmented one has just enough left for the promise, beside NPUs that lead the search astray. In one that must fail
enough NPUs are free, but not in the right places; the search tries as long as it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ALL = tuple(range(16))


def _without(*busy: int) -> tuple[int, ...]:
    return tuple(id for id in ALL if id not in busy)


FRAGMENTED: Mapping[int, tuple[int, ...]] = MappingProxyType(
    {
        1: (15,),
        4: _without(3, 6, 7, 11),  # one quarter is whole
        8: _without(7),  # one ring is whole
        10: _without(0, 2, 9),  # five pairs, three NPUs without partners
        12: _without(0, 9),  # six pairs, two NPUs without partners
        14: _without(0),  # seven pairs, one NPU without partner
    }
)
"""16 has none: a server with one NPU busy is no whole server."""

FAILING: Mapping[int, tuple[int, ...]] = MappingProxyType(
    {
        1: (),
        4: _without(3, 7, 11, 15),  # each quarter lacks one
        8: _without(7, 15),  # each ring lacks one
        10: ALL[:12],  # four pairs
        12: ALL[:13],  # five pairs
        14: ALL[:14],  # six pairs
        16: ALL[:15],
    }
)


def too_few(count: int) -> tuple[int, ...]:
    """Where even a claim without constraints must fail: one NPU fewer than it asks for."""
    return ALL[: count - 1]
