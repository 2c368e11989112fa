"""The devices that the scheduler's allocator gives a claim on one node: its first solution, depth first.

Devices in the order of the slice, combinations within a request, requests as listed (facts: the allocator of Kubernetes
1.36 and 1.37). topology.search says whether and at what cost; this says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from topology.search import Alternative, Ask, Free, Search, Settled


@dataclass(frozen=True)
class Fit:
    """chosen: the devices as bits, 0 where the claim does not fit. rank: which alternatives, 0 for the first of each,
    summed as the scheduler's score does. calls: entries of the allocator's inner function.
    """

    chosen: int
    rank: int
    calls: int


class FirstFit:
    """One claim in any state of a node. Keeps what it has worked out, so ask one object about all states."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self._search = Search(ask)
        self._dead: set[tuple[int, Free, Settled]] = set()
        self._fits: dict[Free, Fit] = {}

    def fit(self, free: Free) -> Fit:
        """What the claim is given when these devices are free."""
        known = self._fits.get(free)
        if known is None:
            found = self._from(0, free, (0,) * len(self.ask.joins))
            chosen, rank = found if found is not None else (0, 0)
            known = self._fits[free] = Fit(chosen, rank, self._search.run(free).calls)
        return known

    def _from(self, number: int, free: Free, settled: Settled) -> tuple[int, int] | None:
        """(devices, rank) for the requests from this one on, or None."""
        if number == len(self.ask.requests):
            return 0, 0
        key = (number, free, settled)
        if key in self._dead:
            return None
        for rank, alternative in enumerate(self.ask.requests[number]):
            for chosen, now in self._choices(number, alternative, free, settled):
                rest = self._from(number + 1, free & ~chosen, now)
                if rest is not None:
                    return chosen | rest[0], rank + rest[1]
        self._dead.add(key)
        return None

    def _choices(
        self, number: int, alternative: Alternative, free: Free, settled: Settled
    ) -> Iterator[tuple[int, Settled]]:
        """Combinations for one request in the order in which they are tried, each with what the joins settle on."""
        left = free
        while left:
            first = left & -left
            left ^= first
            inside = next((members for members in alternative.classes if members & first), 0)
            now = list(settled)
            for index, join in enumerate(self.ask.joins):
                if number in join.requests:
                    now[index] = settled[index] or next((c for c in join.classes if c & first), 0)
                    inside &= now[index]
            if inside & first:
                for others in _combinations(left & inside, alternative.count - 1):
                    yield first | others, tuple(now)


def _combinations(members: int, count: int) -> Iterator[int]:
    """Sets of `count` of the members, the lowest first, as depth-first search comes upon them."""
    if count == 0:
        yield 0
        return
    while members.bit_count() >= count:
        first = members & -members
        members ^= first
        for others in _combinations(members, count - 1):
            yield first | others
