"""The figures of docs/bench.md, measured and written between its markers; the text around them is by hand."""

from __future__ import annotations

from typing import Any

from cli.proofs_page import markdown

BEGIN, END = "<!-- figures: begin, written by `ringfence bench --docs` -->\n", "<!-- figures: end -->\n"

FORMS = {"compiled": "ours", "proposal": "oFEP-0062", "plain": "without constraints"}


def figures(found: dict[str, Any]) -> str:
    """All tables of one run. found: what `ringfence bench --json` prints."""
    versions, machine = found["versions"], found["machine"]
    parts = [
        f"Kubernetes {versions['kubernetes']}, {machine['cpus']} CPUs, load {machine['load_before']} before and "
        f"{machine['load_after']} after. Milliseconds: the median, in brackets the least and the most.\n",
        "".join(f"- {line}\n" for line in in_short(found["in_short"])),
        "### Attempts\n\n" + _attempts(found["attempts"]),
        "### Bursts\n\n" + _bursts(found["bursts"]),
    ]
    said = found.get("preview", {"skipped": ""})
    if "skipped" not in said:
        parts.append(
            "### Preview\n\n"
            f"The production stack's ring {_spread(said['stack_s'])} s, its {said['objects']} objects raw "
            f"{_spread(said['raw_s'])} s: {said['to_raw']} ×.\n"
        )
    return "\n".join(parts)


def in_short(found: dict[str, Any]) -> list[str]:
    """What the attempts come to, a sentence each. found: `in_short` of the data."""
    names = (("to_plain", "one without constraints for as many"), ("to_one", "one for a single NPU"))
    said = [
        f"Where it fits, an attempt of ours costs {_spread(found[key])} × {what}: the median over counts and states."
        for key, what in names
        if key in found
    ]
    failing = [f"{count}: {100 * share:.2g} %" for count, share in found["to_proposal"].items()]
    if failing:
        said.append(f"Where it must fail, by NPUs, of what oFEP-0062's layout costs: {', '.join(failing)}.")
    return said


def _attempts(rows: list[dict[str, Any]]) -> str:
    head = ["NPUs", "state", "claim", "ended", "attempt", "Filter", "÷ oFEP-0062", "÷ without constraints", "÷ one NPU"]
    body = [
        [
            str(row["count"]),
            row["state"],
            FORMS.get(row["form"], row["form"]),
            row["ended"],
            _spread(row["attempt_ms"]),
            _spread(row["filter_ms"]),
            *(_ratio(row.get(name), "attempt") for name in ("to_proposal", "to_plain", "to_one")),
        ]
        for row in rows
    ]
    return markdown(head, body)


def _bursts(rows: list[dict[str, Any]]) -> str:
    head = ["servers", "jobs", "claims", "pods/s", "÷", "Filter a pod", "÷", "CPU a pod", "÷"]
    body = [
        [
            str(row["servers"]),
            str(row["jobs"]),
            FORMS.get(row["form"], row["form"]),
            _spread(row["pods_per_second"]),
            _ratio(row.get("to_plain"), "pods_per_second"),
            _spread(row["filter_ms"]),
            _ratio(row.get("to_plain"), "filter"),
            _spread(row["cpu_ms"]),
            _ratio(row.get("to_plain"), "cpu"),
        ]
        for row in rows
    ]
    return markdown(head, body)


def _spread(found: dict[str, Any]) -> str:
    median, low, high = (_three(found[key]) for key in ("median", "min", "max"))
    return f"{median} ({low}–{high})"


def _three(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _ratio(found: dict[str, Any] | None, name: str) -> str:
    if found is None or found[name] is None:
        return ""
    return f"{found[name]:.3g}"
