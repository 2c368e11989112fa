"""One run of the bench from beginning to end."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox import toolchain
from sandbox.bench import attempts, bursts, cluster, preview, results, side_by_side
from sandbox.bench.attempts import FAILING, Case
from sandbox.bench.cluster import Cluster
from sandbox.bench.forms import FORMS
from sandbox.bench.kind import Kind, Order
from sandbox.bench.metrics import ALGORITHM, ATTEMPT, CPU, EXTENSION_POINT
from sandbox.report import Report

COUNTS = (1, 4, 8, 12, 14, 16)
COMPARED = ("compiled", "proposal", "plain")
MIXED = ("compiled", "plain")


@dataclass(frozen=True)
class Plan:
    """What is measured.

    counts: NPUs of the claims. repeat: repetitions. tries: repetitions of the attempts on one server, where that is
    another number: they cost a tenth of a second each and scatter by a fifth. dear: repetitions of a failing attempt in
    the proposal's layout past a ring, which takes seconds. servers: sizes of the fleets for the mixed bursts. forms:
    names of forms to set side by side, by counts `form_counts` in bursts of `form_jobs` on `form_servers` servers;
    none: left out. preview: stack against raw objects.
    """

    counts: Sequence[int] = COUNTS
    repeat: int = 5
    tries: int | None = None
    dear: int = 2
    servers: Sequence[int] = (50,)
    forms: Sequence[str] = ()
    form_counts: Sequence[int] = side_by_side.COUNTS
    form_servers: int = side_by_side.SERVERS
    form_jobs: int = side_by_side.JOBS
    preview: bool = False

    def repetitions(self, case: Case) -> int:
        dear = case.form == "proposal" and case.state == FAILING and case.count > results.RING
        tries = self.tries or self.repeat
        return min(tries, self.dear) if dear else tries


QUICK = Plan(counts=(1, 4, 12), repeat=1, dear=1, servers=(4,), form_counts=(4, 12), form_servers=4, form_jobs=2)
"""Everything once and small: shows that the bench works, not what claims cost."""


def run(kind: Kind, plan: Plan, report: Report) -> dict[str, Any]:
    """The figures as data. SandboxError; whatever happens, the control plane is down at the end."""
    load = os.getloadavg()[0]
    tools = toolchain.ensure(report)
    with cluster.running(tools, report) as plane:
        plane.prepare(kind)
        _declare(plane, kind, plan)
        found: dict[str, Any] = {
            "versions": {**plane.sandbox.versions, "python": platform.python_version()},
            "machine": {"cpus": os.cpu_count(), "arch": platform.machine(), "load_before": round(load, 2)},
            "server": kind.server.name,
            "metrics": [ATTEMPT, ALGORITHM, EXTENSION_POINT + '{extension_point="Filter"}', CPU],
        }
        wanted = attempts.existing(kind, attempts.cases(plan.counts, COMPARED))
        with report.task(f"{sum(map(plan.repetitions, wanted))} attempts on one server"):
            measured = attempts.measure(plane, kind, wanted, plan.repetitions)
        found["attempts"] = results.attempt_rows(measured)
        found["in_short"] = results.in_short(found["attempts"])
        found["bursts"] = results.burst_rows(_bursts(plane, kind, plan, report))
        if plan.forms:
            fleet = (plan.form_servers, plan.form_jobs)
            found["forms"] = side_by_side.compare(
                plane, kind, plan.forms, plan.form_counts, plan.repeat, plan.repetitions, report, *fleet
            )
        if plan.preview:
            found["preview"] = preview.compare(plane.sandbox, tools, plan.repeat, report)
        found["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    return found


def _declare(plane: Cluster, kind: Kind, plan: Plan) -> None:
    pairs = {(form, count) for form in COMPARED for count in plan.counts}
    pairs |= {(form, count) for form in plan.forms for count in plan.form_counts}
    pairs |= {(form, count) for form in MIXED for count, _ in bursts.MIX}
    specs = {attempts.template_name(form, count): FORMS[form](kind, count) for form, count in sorted(pairs)}
    plane.declare({name: spec for name, spec in specs.items() if spec is not None})


def _bursts(plane: Cluster, kind: Kind, plan: Plan, report: Report) -> list[bursts.Burst]:
    found: list[bursts.Burst] = []
    for size in plan.servers:
        jobs = bursts.mixed_jobs(size, len(kind.server.npus), [count for count, _ in bursts.MIX])
        with report.task(f"{size} simulated servers"):
            plane.publish(kind, [f"server-{number}" for number in range(size)], Order.BY_ID)
        with report.task(f"Bursts of {len(jobs)} mixed jobs on {size} servers"):
            found += bursts.compare(plane, MIXED, size, jobs, plan.repeat)
    return found
