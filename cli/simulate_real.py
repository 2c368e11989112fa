"""`ringfence simulate --real`: the simulated jobs on the real scheduler, and whether the model decides as it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.table import Table

from cli.output import WRONG, err, fail, out, print_json, print_table
from sandbox import pins, toolchain
from sandbox.bench import cluster
from sandbox.bench.kind import Kind
from sandbox.errors import SandboxError
from sandbox.played import Decision, Played, play
from sandbox.report import ConsoleReport
from topology.model import Server
from topology.profiles import OPENFUYAO
from topology.simulate.compare import npus_served, share
from topology.simulate.run import Outcome
from topology.simulate.scene import Scene, Setting
from topology.simulate.strategies import Placed

STRATEGY = "ours"
PROGRAMS = (pins.ETCD, pins.CONTROL_PLANE, pins.KWOK)


def show(server: Server, setting: Setting, as_json: bool) -> None:
    """Play and print; exit 1 where a decision is none that the model allows. TopologyError for what none can play."""
    Scene.of(server, setting)
    report = ConsoleReport(err)
    kind = Kind.of(server, OPENFUYAO)
    try:
        with cluster.running(toolchain.ensure(report, programs=PROGRAMS), report) as plane:
            plane.prepare(kind)
            with err.status("playing") as status:
                seen = lambda number: status.update(f"playing job {number} of {setting.jobs}")  # noqa: E731
                played = play(plane, server, setting, STRATEGY, seen=seen)
            versions = plane.sandbox.versions
    except SandboxError as error:
        fail(str(error), WRONG)
    except KeyboardInterrupt:
        err.print("ringfence: stopped. The control plane is down.")
        raise typer.Exit(130) from None
    if as_json:
        print_json(data(server, setting, played, versions["kubernetes"]))
    else:
        _print(played, versions["kubernetes"])
    if played.mismatches:
        raise typer.Exit(WRONG)


def data(server: Server, setting: Setting, played: Played, kubernetes: str) -> dict[str, Any]:
    """Shares are of 1; null where nothing was there to take a share of. NPUs by their position in the slice."""
    return {
        "server": server.name,
        "kubernetes": kubernetes,
        "strategy": STRATEGY,
        "servers": setting.servers,
        "jobs": setting.jobs,
        "load": setting.load,
        "mix": {str(count): part for count, part in setting.mix.items()},
        "seed": setting.seed,
        "nodes": setting.nodes.value,
        "promise": setting.strictness.value,
        "decisions": len(played.decisions),
        "did_not_fit": sum(decision.real is None for decision in played.decisions),
        "share_agreeing_by_chance": played.by_chance,
        "emptiness": played.emptiness,
        "mismatches": [
            _mismatch(number, decision) for number, decision in enumerate(played.decisions) if not decision.agrees
        ],
        "sizes": [
            {
                "count": count,
                "arrived": tally.arrived,
                "share_served": share(tally.fitted, tally.arrived),
                "shares_served_simulated": [_served(outcome, count) for outcome in played.simulated],
            }
            for count, tally in played.real.sizes.items()
        ],
        "share_of_npus_served": npus_served(played.real),
        "shares_of_npus_served_simulated": [npus_served(outcome) for outcome in played.simulated],
    }


def _mismatch(number: int, decision: Decision) -> dict[str, Any]:
    return {
        "decision": number,
        "count": decision.count,
        "real": _placed(decision.real) if decision.real is not None else None,
        "free": [_npus(free) for free in decision.free],
        "allowed": [_placed(placed) for placed in decision.allowed],
    }


def _placed(placed: Placed) -> dict[str, Any]:
    return {"node": placed.node, "npus": _npus(placed.chosen)}


def _npus(bits: int) -> list[int]:
    return [position for position in range(bits.bit_length()) if bits >> position & 1]


def _print(played: Played, kubernetes: str) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("NPUs", "jobs", "served", "simulated"):
        table.add_column(column, justify="right")
    for count, tally in played.real.sizes.items():
        simulated = [_served(outcome, count) for outcome in played.simulated]
        table.add_row(str(count), str(tally.arrived), _percent(share(tally.fitted, tally.arrived)), _range(simulated))
    every = [npus_served(outcome) for outcome in played.simulated]
    table.add_row("all", "", _percent(npus_served(played.real)), _range(every), style="dim")
    print_table(table)
    out.print(f"simulated: the lowest and highest of {len(played.simulated)} draws of luck")
    for number, decision in enumerate(played.decisions):
        if not decision.agrees:
            said = _mismatch(number, decision)
            out.print(
                f"job {number}, {decision.count} NPUs: given {said['real']}, allowed {said['allowed']}", markup=False
            )
    out.print(
        f"Kubernetes {kubernetes}: {len(played.decisions)} decisions, {len(played.mismatches)} not as the model says; "
        f"nodes drawn by lot would agree in {_percent(played.by_chance)}."
    )
    if played.emptiness is not None:
        out.print(
            f"Where it left several open, {_percent(played.emptiness)} of the others were fuller than the one taken, "
            "equals counted by half."
        )


def _served(outcome: Outcome, count: int) -> float | None:
    tally = outcome.sizes[count]
    return share(tally.fitted, tally.arrived)


def _range(parts: Sequence[float | None]) -> str:
    known = [100 * part for part in parts if part is not None]
    return f"{min(known):.1f}–{max(known):.1f} %" if known else "-"


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f} %"
