"""Forms of the same placement side by side: what each costs when it fits and when it must fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sandbox.bench import attempts, bursts, predicted, states
from sandbox.bench.attempts import FAILING, Attempt, Measured
from sandbox.bench.bursts import Burst
from sandbox.bench.cluster import Cluster
from sandbox.bench.forms import FORMS
from sandbox.bench.kind import Kind, Order
from sandbox.bench.summary import ratio
from sandbox.report import Report

COUNTS = (8, 10, 12, 14, 16)
SERVERS = 50
JOBS = 24
"""Fewer than servers, so that even jobs of a whole server find an idle one."""


def compare(
    cluster: Cluster,
    kind: Kind,
    forms: Sequence[str],
    counts: Sequence[int],
    repeat: int,
    fail_repeat: Callable[[attempts.Case], int],
    report: Report,
    servers: int = SERVERS,
    jobs: int = JOBS,
    seen: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """A row for each order, count and form: `filter_ms` and `cpu_ms` a pod in a burst, `failing_ms`,
    and the calls that the replica counts.

    seen: called with each row as it is done.
    """
    rows = []
    for order in Order:
        there = attempts.existing(kind, attempts.cases(counts, forms, failing_only=True))
        with report.task(f"Forms that must fail, slices by {order}"):
            failed = attempts.measure(cluster, kind, there, fail_repeat, order)
        cluster.publish(kind, [f"forms-{number}" for number in range(servers)], order)
        for count in counts:
            mine = [one for one in failed if one.case.count == count]
            with report.task(f"Forms of {count} NPUs in a burst, slices by {order}"):
                burst = bursts.compare(
                    cluster, [one.case.form for one in mine], servers, [count] * jobs, repeat, warm=True
                )
            plain = next((b for b in burst if b.form == "plain"), None)
            for one, b in zip(mine, burst, strict=True):
                rows.append(_row(kind, order, one, b, plain))
                seen(rows[-1])
    return rows


def _row(kind: Kind, order: Order, failed: Measured, burst: Burst, plain: Burst | None) -> dict[str, Any]:
    case = failed.case
    spec = FORMS[case.form](kind, case.count)
    if spec is None:
        raise ValueError(f"{case.form} has no claim for {case.count}")
    return {
        "order": str(order),
        "count": case.count,
        "form": case.form,
        "requests": len(spec["devices"]["requests"]),
        "expressions": len(
            {
                selector["cel"]["expression"]
                for request in spec["devices"]["requests"]
                for selector in request["exactly"].get("selectors", [])
            }
        ),
        "filter_ms": burst.filter.plain(),
        "cpu_ms": burst.cpu.plain(),
        "pods_per_second": burst.rate.plain(),
        "to_plain": None
        if plain is None
        else {
            "filter": ratio(burst.filter.median, plain.filter.median),
            "cpu": ratio(burst.cpu.median, plain.cpu.median),
        },
        "failing_ms": failed.spread(_whole).plain(),
        "ended": failed.ended,
        "calls_idle": predicted.calls(kind, spec, order, states.ALL),
        "calls_failing": predicted.calls(kind, spec, order, case.free),
        "free": list(case.free),
        "state": FAILING,
    }


def _whole(attempt: Attempt) -> float:
    return attempt.whole
