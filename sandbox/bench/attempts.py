"""One scheduling attempt at a time, on one server in a known state: what each form of a claim costs the scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers

from sandbox.bench import objects, states
from sandbox.bench.cluster import Cluster
from sandbox.bench.forms import FORMS
from sandbox.bench.kind import Kind, Order
from sandbox.bench.summary import Spread
from sandbox.errors import SandboxError

IDLE, FRAGMENTED, FAILING = "idle", "fragmented", "failing"
SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"

DECIDED_WITHIN = 60.0
"""Seconds for one attempt: the scheduler itself gives up a search after 10 s a node."""

_numbers = numbers(1)


@dataclass(frozen=True)
class Case:
    """A claim in a form, tried on a server of which these NPUs are free."""

    form: str
    count: int
    state: str
    free: tuple[int, ...]

    @property
    def template(self) -> str:
        return template_name(self.form, self.count)


@dataclass(frozen=True)
class Attempt:
    """Seconds. whole: the attempt, binding included where it succeeded. filter: the search for devices and little else.

    ended: scheduled, unschedulable, or error where the scheduler gave the search up.
    """

    ended: str
    whole: float
    algorithm: float
    filter: float


@dataclass
class Measured:
    """The repetitions of one case."""

    case: Case
    order: Order
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def ended(self) -> str:
        """How most repetitions ended that ended worst."""
        ends = [attempt.ended for attempt in self.attempts]
        return ERROR if ERROR in ends else ends[0]

    def spread(self, figure: Callable[[Attempt], float]) -> Spread:
        """Of the figure, in milliseconds."""
        return Spread.of([1000 * figure(attempt) for attempt in self.attempts])


def template_name(form: str, count: int) -> str:
    return f"{form}-{count}"


def cases(counts: Sequence[int], forms: Sequence[str], failing_only: bool = False) -> list[Case]:
    """What is tried: idle, fragmented where something fits then, failing. Forms without one for a count are left out.

    A claim without constraints fails only where too little is free, so its failing state is another than theirs.
    """
    found = []
    for count in counts:
        for form in forms:
            fails = states.too_few(count) if form == "plain" else states.FAILING[count]
            if not failing_only:
                found.append(Case(form, count, IDLE, states.ALL))
                if count in states.FRAGMENTED:
                    found.append(Case(form, count, FRAGMENTED, states.FRAGMENTED[count]))
            found.append(Case(form, count, FAILING, fails))
    return found


def existing(kind: Kind, wanted: Sequence[Case]) -> list[Case]:
    """Those whose form can be written for the count on this kind of server."""
    return [case for case in wanted if FORMS[case.form](kind, case.count) is not None]


def measure(
    cluster: Cluster,
    kind: Kind,
    wanted: Sequence[Case],
    repeat: Callable[[Case], int],
    order: Order = Order.BY_ID,
    seen: Callable[[Measured], None] = lambda _: None,
) -> list[Measured]:
    """Try every case as often as `repeat` says, round by round, so that what disturbs the machine disturbs all alike.

    Each state has a server of its own that nothing else uses; a pod is bound to it, so that the scheduler looks at no
    other. The templates must have been declared. SandboxError where an attempt ends as it cannot.
    """
    nodes = _nodes(cluster, kind, wanted, order)
    found = [Measured(case, order) for case in wanted]
    # Not counted: the scheduler's first compile of each expression, and its first look at each server.
    for one in found:
        if one.case.state != FAILING:
            _attempt(cluster, one.case, nodes[one.case.free])
    for turn in range(max(repeat(case) for case in wanted)):
        for one in found:
            if turn < repeat(one.case):
                one.attempts.append(_attempt(cluster, one.case, nodes[one.case.free]))
                if len(one.attempts) == repeat(one.case):
                    seen(one)
    cluster.release()
    return found


def _nodes(cluster: Cluster, kind: Kind, wanted: Sequence[Case], order: Order) -> Mapping[tuple[int, ...], str]:
    frees = dict.fromkeys(case.free for case in wanted)
    nodes = {free: f"state-{order}-{number}" for number, free in enumerate(frees)}
    cluster.publish(kind, nodes.values(), order)
    for free, node in nodes.items():
        cluster.hold(kind, node, [id for id in kind.server.ids if id not in free])
    time.sleep(0.5)
    return nodes


def _attempt(cluster: Cluster, case: Case, node: str) -> Attempt:
    name = f"{case.template}-{next(_numbers)}"
    before = cluster.meter.read()
    cluster.start([objects.pod(name, case.template, node)])
    cluster.decided(name, DECIDED_WITHIN)
    deadline = time.monotonic() + DECIDED_WITHIN
    spent = cluster.meter.read().since(before)
    # The pod is told first; the scheduler's books follow within moments.
    while not spent.all_attempts.count and time.monotonic() < deadline:
        time.sleep(0.01)
        spent = cluster.meter.read().since(before)
    cluster.clear()
    ended = max((SCHEDULED, UNSCHEDULABLE, ERROR), key=spent.ended)
    expected = (UNSCHEDULABLE, ERROR) if case.state == FAILING else (SCHEDULED,)
    if not spent.ended(ended) or ended not in expected:
        raise SandboxError(
            f"A claim for {case.count} NPUs in the form {case.form} was {ended if spent.ended(ended) else 'not tried'} "
            f"on a server with {len(case.free)} free, where it must be {expected[0]}.",
            remedy="A figure from such a run means nothing; run it again, and report it if it stays so.",
        )
    return Attempt(ended, spent.all_attempts.mean, spent.algorithm.mean, spent.filter.mean)
