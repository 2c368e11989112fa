"""`ringfence bench`: what claims cost the real scheduler, as ratios from one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli import bench_page
from cli.output import MISUSED, WRONG, err, fail, out, print_json, print_table
from cli.page import put
from cli.server import load
from sandbox.bench import results
from sandbox.bench.forms import FORMS
from sandbox.bench.kind import Kind
from sandbox.bench.run import QUICK, Plan, run
from sandbox.errors import SandboxError
from sandbox.report import ConsoleReport
from topology.profiles import OPENFUYAO

SERVER = "box16"
"""The states that are measured are Box16's: the server with rings, pairs and NUMA nodes at once."""

MOST_SERVERS = 2000


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Small, once: that it works, not what claims cost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Also draw a chart.")] = None,
    servers: Annotated[
        list[int] | None,
        typer.Option(help="Simulated servers of the mixed burst; again for another size. Default: 50."),
    ] = None,
    repeat: Annotated[int | None, typer.Option(help="Repetitions of each figure. Default: 5.")] = None,
    tries: Annotated[
        int | None, typer.Option(help="Repetitions of the attempts on one server. Default: as --repeat.")
    ] = None,
    forms: Annotated[
        str | None, typer.Option(metavar="NAMES|all", help=f"Also set forms side by side: {', '.join(FORMS)}.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Also preview the stack against raw objects.")] = False,
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="FILE", help="Also write the figures between the file's markers.")
    ] = None,
) -> None:
    """Measure our templates against the proposal's layouts and plain claims, on the real scheduler. About 3 minutes."""
    plan = _plan(quick, servers, {"repeat": repeat, "tries": tries}, forms, preview)
    if svg is not None and not svg.resolve().parent.is_dir():
        fail(f"--svg {svg}: there is no such folder. Name a file in a folder that is there.", MISUSED)
    if docs is not None and not (docs.is_file() and bench_page.BEGIN in docs.read_text(encoding="utf-8")):
        fail(f"--docs {docs}: no file with {bench_page.BEGIN.strip()} in it. Name docs/bench.md.", MISUSED)
    kind = Kind.of(load(SERVER), OPENFUYAO)
    try:
        found = run(kind, plan, ConsoleReport(err))
    except SandboxError as error:
        fail(str(error), WRONG)
    except KeyboardInterrupt:
        err.print("ringfence: stopped. The bench's control plane is down.")
        raise typer.Exit(130) from None
    if svg is not None:
        try:
            svg.write_text(results.chart(found["attempts"], found["versions"]["kubernetes"]), encoding="utf-8")
        except OSError as error:
            fail(f"--svg {svg}: {error.strerror}. Name a file that can be written.", MISUSED)
    if docs is not None:
        put(docs, bench_page.BEGIN, bench_page.END, bench_page.figures(found))
    if as_json:
        print_json(found)
    else:
        _show(found)


def _plan(
    quick: bool, servers: list[int] | None, repetitions: dict[str, int | None], forms: str | None, preview: bool
) -> Plan:
    plan = replace(QUICK if quick else Plan(), preview=preview)
    if servers:
        for size in servers:
            if not 1 <= size <= MOST_SERVERS:
                fail(f"--servers {size}: is not from 1 to {MOST_SERVERS}. Write a number in that range.", MISUSED)
        plan = replace(plan, servers=tuple(servers))
    for option, number in repetitions.items():
        if number is not None and number < 1:
            fail(f"--{option} {number}: nothing would be measured. Write 1 or more.", MISUSED)
    plan = replace(plan, repeat=repetitions["repeat"] or plan.repeat, tries=repetitions["tries"])
    if forms is not None:
        names = list(FORMS) if forms == "all" else forms.split(",")
        unknown = [name for name in names if name not in FORMS]
        if unknown:
            fail(f"--forms {unknown[0]}: there is no such form. Write some of {', '.join(FORMS)}, or all.", MISUSED)
        plan = replace(plan, forms=tuple(names))
    return plan


def _show(found: dict[str, Any]) -> None:
    versions, machine = found["versions"], found["machine"]
    out.print(
        f"Kubernetes {versions['kubernetes']}, Python {versions['python']}, {machine['cpus']} CPUs, "
        f"load {machine['load_before']} before and {machine['load_after']} after; medians (least–most), ms"
    )
    print_table(_attempts(found["attempts"]))
    for line in bench_page.in_short(found["in_short"]):
        out.print(line, markup=False)
    print_table(_bursts(found["bursts"]))
    if "forms" in found:
        print_table(_forms(found["forms"]))
    if "preview" in found:
        said = found["preview"]
        if "skipped" in said:
            out.print(f"preview: skipped. {said['skipped']}", markup=False)
        else:
            out.print(
                f"preview: the stack {_spread(said['stack_s'])} s, its {said['objects']} objects raw "
                f"{_spread(said['raw_s'])} s: {said['to_raw']} ×"
            )


def _attempts(rows: list[dict[str, Any]]) -> Table:
    table = _table("NPUs", "state", "form", "ended", "attempt", "Filter", "÷ proposal", "÷ plain", "÷ one NPU")
    for row in rows:
        ratios = [_ratios(row.get(name), "attempt", "filter") for name in ("to_proposal", "to_plain", "to_one")]
        table.add_row(
            str(row["count"]),
            row["state"],
            row["form"],
            row["ended"],
            _spread(row["attempt_ms"]),
            _spread(row["filter_ms"]),
            *ratios,
        )
    table.caption = "ratios: attempt / Filter"
    return table


def _bursts(rows: list[dict[str, Any]]) -> Table:
    table = _table("servers", "jobs", "form", "pods/s", "Filter a pod", "CPU a pod", "÷ plain", "refused")
    for row in rows:
        table.add_row(
            str(row["servers"]),
            str(row["jobs"]),
            row["form"],
            _spread(row["pods_per_second"]),
            _spread(row["filter_ms"]),
            _spread(row["cpu_ms"]),
            _ratios(row.get("to_plain"), "pods_per_second", "filter", "cpu"),
            str(row["refused"]),
        )
    table.caption = "ratios: pods/s / Filter / CPU"
    return table


def _forms(rows: list[dict[str, Any]]) -> Table:
    table = _table(
        "order",
        "NPUs",
        "form",
        "requests",
        "CEL",
        "Filter a pod",
        "CPU a pod",
        "÷ plain",
        "must fail",
        "calls idle",
        "calls failing",
    )
    for row in rows:
        table.add_row(
            row["order"],
            str(row["count"]),
            row["form"],
            str(row["requests"]),
            str(row["expressions"]),
            _spread(row["filter_ms"]),
            _spread(row["cpu_ms"]),
            _ratios(row["to_plain"], "filter", "cpu"),
            _spread(row["failing_ms"]) + ("" if row["ended"] == "unschedulable" else f" {row['ended']}"),
            str(row["calls_idle"]),
            str(row["calls_failing"]),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _spread(found: dict[str, Any]) -> str:
    median, low, high = (f"{found[key]:.3g}" if found[key] < 100 else f"{found[key]:.0f}" for key in _ENDS)
    return f"{median} ({low}–{high})"


_ENDS = ("median", "min", "max")


def _ratios(found: dict[str, Any] | None, *names: str) -> str:
    if found is None:
        return ""
    return " / ".join("?" if found[name] is None else f"{found[name]:.3g}" for name in names)
