"""The clock: jobs arrive, are placed or go away, and leave; what is given out is taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from heapq import heappop, heappush

from topology.simulate.jobs import Job
from topology.simulate.packing import Packing
from topology.simulate.strategies import Strategy


@dataclass
class Tally:
    """What became of the jobs of one size.

    arrived: all. enough: when some node had as many NPUs free. fitted: were placed (so enough were free).
    kept: placed on NPUs that keep the promise. possible: some arrangement of the jobs then running and this one exists
    (those left undecided included); possible_enough: of those in `enough`. undecided: not shown either way.
    """

    arrived: int = 0
    enough: int = 0
    fitted: int = 0
    kept: int = 0
    possible: int = 0
    possible_enough: int = 0
    undecided: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, at.name) + getattr(other, at.name) for at in fields(self)))


@dataclass(frozen=True)
class Outcome:
    """sizes: count → tally. in_use: NPUs given out, as a share of all, over the time that was counted."""

    strategy: str
    sizes: Mapping[int, Tally]
    in_use: float


class BrokenSimulationError(AssertionError):
    """An NPU was given twice or came back twice: a fault of this program."""


@dataclass
class Cluster:
    """free: for each node its free NPUs as bits. Gives and takes back, and sees to it that nothing is given twice."""

    npus: int
    servers: int
    free: list[int] = field(init=False)
    running: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.free = [(1 << self.npus) - 1] * self.servers

    def give(self, node: int, chosen: int, count: int) -> None:
        if chosen & ~self.free[node] or chosen.bit_count() != count:
            raise BrokenSimulationError(f"node {node}: {chosen:b} of {self.free[node]:b} for {count}")
        self.free[node] &= ~chosen
        self.running[count] += 1

    def take_back(self, node: int, chosen: int, count: int) -> None:
        if chosen & self.free[node]:
            raise BrokenSimulationError(f"node {node}: {chosen:b} came back to {self.free[node]:b}")
        self.free[node] |= chosen
        self.running[count] -= 1

    @property
    def in_use(self) -> int:
        return self.npus * self.servers - sum(mask.bit_count() for mask in self.free)

    @property
    def most_free(self) -> int:
        """Free NPUs on the node that has the most."""
        return max(mask.bit_count() for mask in self.free)


def run(
    strategy: Strategy,
    jobs: Iterable[Job],
    cluster: Cluster,
    keeps: Callable[[int, int], bool],
    packing: Packing | None = None,
    settle: int = 0,
) -> Outcome:
    """Play the jobs through the strategy on an empty cluster; at the end all NPUs are free again.

    keeps: (count, chosen) → whether that set is what a job of so many was promised. packing: to tell which of the jobs
    that did not fit no arrangement could have served; None leaves `possible` at what fitted. settle: jobs at the start
    that are played and not counted, while the cluster fills.
    """
    sizes: dict[int, Tally] = {}
    leaving: list[tuple[float, int, int, int, int]] = []
    since = area = until = 0.0
    for job in jobs:
        while leaving and leaving[0][0] <= job.arrives:
            at, _, node, chosen, count = heappop(leaving)
            if job.number > settle:
                area += cluster.in_use * (at - until)
            until = at
            cluster.take_back(node, chosen, count)
        if job.number > settle:
            area += cluster.in_use * (job.arrives - until)
        else:
            since = job.arrives
        until = job.arrives
        tally = sizes.setdefault(job.count, Tally()) if job.number >= settle else Tally()
        tally.arrived += 1
        enough = cluster.most_free >= job.count
        tally.enough += enough
        placed = strategy.place(job.count, cluster.free)
        if placed is not None:
            tally.fitted += 1
            tally.kept += keeps(job.count, placed.chosen)
            tally.possible += 1
            tally.possible_enough += 1
            cluster.give(placed.node, placed.chosen, job.count)
            heappush(leaving, (job.leaves, job.number, placed.node, placed.chosen, job.count))
        elif packing is not None and job.number >= settle:
            fits = packing.fits(cluster.running + Counter([job.count]))
            tally.possible += fits is not False
            tally.possible_enough += enough and fits is not False
            tally.undecided += fits is None
    for _, _, node, chosen, count in leaving:
        cluster.take_back(node, chosen, count)
    span = (until - since) * cluster.npus * cluster.servers
    return Outcome(strategy.name, dict(sorted(sizes.items())), area / span if span else 0.0)


def total(outcomes: Sequence[Outcome]) -> Outcome:
    """Several runs of one strategy as one; in_use is their mean."""
    sizes: dict[int, Tally] = {}
    for outcome in outcomes:
        for count, tally in outcome.sizes.items():
            sizes[count] = sizes.get(count, Tally()) + tally
    return Outcome(outcomes[0].strategy, dict(sorted(sizes.items())), sum(o.in_use for o in outcomes) / len(outcomes))
