"""Ways of choosing a node and NPUs for a job: those that the scheduler can be made to follow, and two that it cannot.

The scheduler's are a claim searched by first fit on every node, and a choice among the nodes where it fits. It knows no
score for devices (facts: the allocator returns its first solution), so the node is a matter of other scores; see Nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Protocol

from topology.simulate.firstfit import Fit
from topology.simulate.rules import Rule


class Nodes(StrEnum):
    """What the scheduler's other scores make of the nodes where a claim fits; ties are broken at random, but for FIRST.

    RANDOM: pods that ask for no CPU and no memory: every node alike.
    FIRST: the same, and of nodes alike the first. Kubernetes 1.37 comes near that: it draws the number that breaks ties
      only where there is an extender, and keeps nodes about in their order (kubernetes/kubernetes#135231, #141024).
    SPREAD: LeastAllocated, its default, with CPU and memory in proportion to NPUs: the node with the most NPUs free.
    PACK: examples/scheduler/packing.yaml, MostAllocated alone, with CPU in proportion to NPUs: that with the fewest.

    sandbox.played holds each of them to the real scheduler.
    """

    RANDOM = "random"
    FIRST = "first"
    SPREAD = "spread"
    PACK = "pack"


@dataclass(frozen=True)
class Placed:
    """node: its number. chosen: the NPUs as bits."""

    node: int
    chosen: int


@dataclass
class Effort:
    """Searches of one size of job, one for each node and arrival. calls: entries of the allocator's inner function."""

    searches: int = 0
    calls: int = 0
    worst: int = 0

    def add(self, calls: int) -> None:
        self.searches += 1
        self.calls += calls
        self.worst = max(self.worst, calls)


class OneClaim(Protocol):
    """What topology.simulate.firstfit and .proposal have in common."""

    def fit(self, free: int) -> Fit: ...


class Strategy(Protocol):
    """efforts: count → what searching cost; empty for a strategy that is no search of the scheduler's."""

    @property
    def name(self) -> str: ...
    @property
    def efforts(self) -> Mapping[int, Effort]: ...
    def begin(self, seed: int) -> None:
        """A new run with this luck; what was worked out about states is kept."""
        ...

    def place(self, count: int, free: Sequence[int]) -> Placed | None:
        """Where a job of `count` goes when these NPUs are free on each node; None where it does not fit."""
        ...


_RANKS = 8
_DRA_WEIGHT = 2
_FULL_SCORE = 100


class Scheduler:
    """kube-scheduler: first fit on each node, then the node with the best score, then chance.

    npus: of a node, for the scores that go by CPU in proportion to them. Where a claim has alternatives, DRA adds a
    score of its own: 8 less the number of the alternative, normalised to 100 for the best node, with weight 2 (facts:
    plugin dynamicresources), against weight 1 of NodeResourcesFit. All nodes are looked at, as with fewer than 100.
    """

    def __init__(self, name: str, claims: Mapping[int, OneClaim], nodes: Nodes, npus: int) -> None:
        self.name = name
        self.efforts: dict[int, Effort] = {count: Effort() for count in claims}
        self._claims = claims
        self._nodes = nodes
        self._npus = npus
        self._random = Random(0)  # noqa: S311 - reproducible is what it must be

    def begin(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311

    def place(self, count: int, free: Sequence[int]) -> Placed | None:
        for mask in free:
            self.efforts[count].add(self._claims[count].fit(mask).calls)
        best = self.best(count, free)
        if not best:
            return None
        return best[0] if self._nodes is Nodes.FIRST else self._random.choice(best)

    def fitting(self, count: int, free: Sequence[int]) -> Mapping[int, Fit]:
        """Node → the claim's first fit there, where it has one."""
        fits = ((node, self._claims[count].fit(mask)) for node, mask in enumerate(free))
        return {node: fit for node, fit in fits if fit.chosen}

    def best(self, count: int, free: Sequence[int]) -> tuple[Placed, ...]:
        """All that its scores leave open: each node of the best score with what it would give; none where none fits."""
        fitting = self.fitting(count, free)
        if not fitting:
            return ()
        top = _RANKS - min(fit.rank for fit in fitting.values())
        scores = {
            node: _DRA_WEIGHT * ((_RANKS - fit.rank) * _FULL_SCORE // top) + self._score(free[node].bit_count() - count)
            for node, fit in fitting.items()
        }
        best = max(scores.values())
        return tuple(Placed(node, fit.chosen) for node, fit in fitting.items() if scores[node] == best)

    def _score(self, left: int) -> int:
        """NodeResourcesFit's, when so many NPUs are left on the node once the job is there."""
        if self._nodes is Nodes.SPREAD:
            return left * _FULL_SCORE // self._npus
        return (self._npus - left) * _FULL_SCORE // self._npus if self._nodes is Nodes.PACK else 0


class _Rulers:
    """What strategies have in common that look at every node themselves and leave nothing to chance."""

    name = ""

    def __init__(self, rules: Mapping[int, Rule]) -> None:
        self.efforts: Mapping[int, Effort] = {}
        self._rules = rules
        self._known: dict[tuple[int, int], tuple[float, int] | None] = {}

    def begin(self, seed: int) -> None:
        """There is no luck in it."""

    def place(self, count: int, free: Sequence[int]) -> Placed | None:
        """On the node with the lowest figure, then with the fewest NPUs free, then the first."""
        best: tuple[tuple[float, int, int], Placed] | None = None
        for node, mask in enumerate(free):
            state = (count, mask)
            if state not in self._known:
                self._known[state] = self._on_node(count, mask)
            found = self._known[state]
            if found is not None:
                key = (found[0], mask.bit_count(), node)
                if best is None or key < best[0]:
                    best = (key, Placed(node, found[1]))
        return best[1] if best is not None else None

    def _on_node(self, count: int, free: int) -> tuple[float, int] | None:
        """(a figure, the lower the better; the set that has it), None where none is free."""
        raise NotImplementedError


class FillFirst(_Rulers):
    """MindCluster's rule: of all pools with enough free (on a Box16 rings) that with the fewest, then the fullest node.

    Source: ascend-for-volcano's preference by ring free count. In the pool the lowest ids.
    """

    name = "fill-first"

    def _on_node(self, count: int, free: int) -> tuple[float, int] | None:
        rule = self._rules[count]
        pools = [units for units in rule.free_units(free) if len(units) >= rule.need]
        fullest = min(pools, key=len, default=None)
        return None if fullest is None else (len(fullest) * rule.size, sum(fullest[: rule.need]))


class Foresight(_Rulers):
    """The best that is known without moving jobs: the node and set that leave most room for what may come.

    Room is, over the sizes of the mix, share of the jobs × NPUs × how many such jobs would still fit on the node at
    once. It looks one job ahead and is not proven best; the bound is topology.simulate.packing.
    """

    name = "foresight"

    def __init__(self, rules: Mapping[int, Rule], weights: Mapping[int, float]) -> None:
        super().__init__(rules)
        self._weights = [(rule, weights[count] * count) for count, rule in rules.items()]
        self._room: dict[int, float] = {}

    def _on_node(self, count: int, free: int) -> tuple[float, int] | None:
        room = self.room(free)
        # Rounded, so that equal room is equal in whatever order it was summed.
        lost = ((round(room - self.room(free & ~chosen), 6), chosen) for chosen in self._rules[count].sets(free))
        return min(lost, default=None)

    def room(self, free: int) -> float:
        known = self._room.get(free)
        if known is None:
            known = self._room[free] = sum(weight * rule.most(free) for rule, weight in self._weights)
        return known
