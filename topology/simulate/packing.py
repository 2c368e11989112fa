"""Whether jobs fit a cluster at all, by any arrangement of them under the rules: exact, node by node.

This is the bound on every strategy: who had known all that came, or could move running jobs, could do no better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from topology.simulate.rules import Rule

Counts = tuple[int, ...]
"""Jobs of each size, in the order of Packing.sizes."""

_BUDGET = 300
"""Nodes filled in one search, after which it is left undecided."""


class Packing:
    """Jobs of the rules' sizes on servers of so many NPUs."""

    def __init__(self, rules: Mapping[int, Rule], npus: int, servers: int) -> None:
        self.sizes = tuple(sorted(rules, reverse=True))
        self._rules = [rules[size] for size in self.sizes]
        self._every = (1 << npus) - 1
        self._npus = npus
        self._servers = servers
        self._held: dict[Counts, bool] = {}
        self._dead: set[tuple[Counts, int]] = set()
        self._known: dict[Counts, bool | None] = {}
        self._spent = 0

    def fits(self, jobs: Mapping[int, int]) -> bool | None:
        """Whether an arrangement exists; None where that was not decided. jobs: size → how many."""
        counts = tuple(jobs.get(size, 0) for size in self.sizes)
        if counts not in self._known:
            self._known[counts] = self._decide(counts)
        return self._known[counts]

    def _decide(self, counts: Counts) -> bool | None:
        if not self._room(counts, self._servers):
            return False
        left = counts
        for _ in range(self._servers):
            left = _less(left, next(self._fillings(left)))
        if not any(left):
            return True
        self._spent = 0
        return self._search(counts, self._servers, {})

    def _room(self, counts: Counts, servers: int) -> bool:
        """False where there are not even enough NPUs, or one size alone is too much."""
        asked = sum(size * number for size, number in zip(self.sizes, counts, strict=True))
        return asked <= servers * self._npus and all(
            number <= servers * rule.most(self._every) for rule, number in zip(self._rules, counts, strict=True)
        )

    def _search(self, counts: Counts, servers: int, known: dict[tuple[Counts, int], bool | None]) -> bool | None:
        if not any(counts):
            return True
        if not self._room(counts, servers):
            return False
        key = (counts, servers)
        if key in known:
            return known[key]
        answer: bool | None = False
        for filling in self._fillings(counts):
            self._spent += 1
            if self._spent > _BUDGET:
                return None
            found = self._search(_less(counts, filling), servers - 1, known)
            if found:
                return True
            answer = None if found is None else answer
        known[key] = answer
        return answer

    def _fillings(self, counts: Counts) -> Iterator[Counts]:
        """What one node may hold of the jobs, with one of the largest, to which none could be added.

        The first is the greedy one: as many as go of the largest, then of the next. Nothing is missed: some node must
        hold a largest job, and what it holds besides can only be moved to it from others.
        """
        largest = next((index for index, number in enumerate(counts) if number), None)
        if largest is None:
            yield counts
            return
        start = tuple(1 if index == largest else 0 for index in range(len(counts)))
        yield from self._fill(counts, start, largest)

    def _fill(self, counts: Counts, held: Counts, index: int) -> Iterator[Counts]:
        if index == len(counts):
            if not any(
                have < number and self.holds(_plus(held, other))
                for other, (have, number) in enumerate(zip(held, counts, strict=True))
            ):
                yield held
            return
        levels = [held]
        while levels[-1][index] < counts[index] and self.holds(_plus(levels[-1], index)):
            levels.append(_plus(levels[-1], index))
        for level in reversed(levels):
            yield from self._fill(counts, level, index + 1)

    def holds(self, counts: Counts) -> bool:
        """Whether one server holds the jobs."""
        known = self._held.get(counts)
        if known is None:
            known = self._held[counts] = self._arrange(counts, self._every)
        return known

    def _arrange(self, counts: Counts, free: int) -> bool:
        index = next((index for index, number in enumerate(counts) if number), None)
        if index is None:
            return True
        if (counts, free) in self._dead:
            return False
        if self._room_on(counts, free):
            rest = _less(counts, tuple(1 if other == index else 0 for other in range(len(counts))))
            if any(self._arrange(rest, free & ~chosen) for chosen in self._rules[index].sets(free)):
                return True
        self._dead.add((counts, free))
        return False

    def _room_on(self, counts: Counts, free: int) -> bool:
        asked = sum(size * number for size, number in zip(self.sizes, counts, strict=True))
        return asked <= free.bit_count() and all(
            number <= rule.most(free) for rule, number in zip(self._rules, counts, strict=True) if number
        )


def _less(counts: Counts, others: Sequence[int]) -> Counts:
    return tuple(number - other for number, other in zip(counts, others, strict=True))


def _plus(counts: Counts, index: int) -> Counts:
    return (*counts[:index], counts[index] + 1, *counts[index + 1 :])
