"""What was measured as plain data, each figure with its ratio to what it is compared with in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox.bench.attempts import FAILING, IDLE, Attempt, Measured
from sandbox.bench.bursts import Burst
from sandbox.bench.chart import Group, svg_bars
from sandbox.bench.summary import Spread, ratio

BASES = ("proposal", "plain")
"""The forms that others of the same count are compared with, in the same state."""

RING = 8
"""NPUs of a ring of the server that is measured; past it the proposal's layouts are dear."""


def attempt_rows(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """A row for each case. Spreads in ms: `attempt` with binding where it succeeded, `filter` without.

    to_proposal, to_plain: medians ÷ the same count and state in that form (`plain` fails in a state of its own);
    to_one: ÷ a claim without constraints for one NPU.
    """
    by_case = {(m.case.form, m.case.count, m.case.state): m for m in measured}
    rows = []
    for m in measured:
        attempt, filtered = m.spread(_whole), m.spread(_filter)
        row: dict[str, Any] = {
            "count": m.case.count,
            "state": m.case.state,
            "form": m.case.form,
            "free": list(m.case.free),
            "ended": m.ended,
            "attempt_ms": attempt.plain(),
            "filter_ms": filtered.plain(),
        }
        bases = [(f"to_{base}", by_case.get((base, m.case.count, m.case.state))) for base in BASES]
        # One NPU is either free or not: there is nothing to be fragmented, so success is compared with success.
        one = by_case.get(("plain", 1, FAILING if m.case.state == FAILING else IDLE))
        for name, base in [*bases, ("to_one", one)]:
            if base is not None and base is not m:
                row[name] = {
                    "attempt": ratio(attempt.median, base.spread(_whole).median),
                    "filter": ratio(filtered.median, base.spread(_filter).median),
                }
        rows.append(row)
    return rows


def in_short(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of the rows: where our claims for more than one NPU fit, the spread of their attempts' ratios `to_plain` and
    `to_one` over counts and states; where they must fail, for each count past a ring what they are `to_proposal`.
    """
    ours = [row for row in rows if row["form"] == "compiled" and row["count"] > 1]
    found: dict[str, Any] = {}
    for name in ("to_plain", "to_one"):
        values = [row[name]["attempt"] for row in ours if row["state"] != FAILING and name in row]
        if values:
            found[name] = Spread.of(values).plain()
    found["to_proposal"] = {
        str(row["count"]): row["to_proposal"]["attempt"]
        for row in ours
        if row["state"] == FAILING and row["count"] > RING and "to_proposal" in row
    }
    return found


def burst_rows(bursts: Sequence[Burst]) -> list[dict[str, Any]]:
    """A row for each form and size, with what it is to the burst of plain claims on as many servers."""
    plain = {burst.servers: burst for burst in bursts if burst.form == "plain"}
    rows = []
    for burst in bursts:
        row: dict[str, Any] = {
            "servers": burst.servers,
            "form": burst.form,
            "jobs": burst.jobs,
            "pods_per_second": burst.rate.plain(),
            "filter_ms": burst.filter.plain(),
            "cpu_ms": burst.cpu.plain(),
            "refused": burst.refused,
        }
        base = plain.get(burst.servers)
        if base is not None and base is not burst:
            row["to_plain"] = {
                "pods_per_second": ratio(burst.rate.median, base.rate.median),
                "filter": ratio(burst.filter.median, base.filter.median),
                "cpu": ratio(burst.cpu.median, base.cpu.median),
            }
        rows.append(row)
    return rows


def chart(rows: Sequence[dict[str, Any]], kubernetes: str) -> str:
    """The attempts that must fail as SVG: where the ways to write a claim differ by orders of magnitude."""
    counts = sorted({row["count"] for row in rows if row["state"] == FAILING})
    groups = [
        Group(
            f"{count} NPUs",
            tuple(
                (row["form"], row["attempt_ms"]["median"])
                for row in rows
                if row["state"] == FAILING and row["count"] == count and row["attempt_ms"]["median"] > 0
            ),
        )
        for count in counts
    ]
    title = f"One scheduling attempt that must fail, one server, Kubernetes {kubernetes}"
    return svg_bars(title, "ms", [group for group in groups if group.bars], logarithmic=True)


def _whole(attempt: Attempt) -> float:
    return attempt.whole


def _filter(attempt: Attempt) -> float:
    return attempt.filter
