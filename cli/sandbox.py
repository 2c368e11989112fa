"""`ringfence sandbox`: a real control plane on loopback with simulated servers, the stack deployed in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.table import Table

from cli.output import MISUSED, WRONG, err, fail, out, print_json, print_table
from cli.table import servers_table, trial_table
from sandbox import pins, places, plane, show, toolchain
from sandbox.engine import Engine
from sandbox.errors import SandboxError
from sandbox.report import ConsoleReport, spoken
from sandbox.trial import Outcome
from settings.errors import SettingsError
from settings.ring_plan import plan_of_stack

app = typer.Typer(no_args_is_help=True, help="A real API server and scheduler on loopback, to try a stack on.")

STACK = "dev"
# The stack file names the context of this sandbox, and the context bears the sandbox's name: the two are called alike.
Name = Annotated[str, typer.Option("--name", help="Which sandbox; several can live side by side.")]


@contextmanager
def clear_errors() -> Iterator[None]:
    """One message: exit 1 for what the sandbox raises, 2 for a wrong stack file, 130 for Ctrl-C."""
    try:
        yield
    except SandboxError as error:
        fail(str(error), WRONG)
    except SettingsError as error:
        fail(str(error), MISUSED)
    except KeyboardInterrupt:
        err.print("ringfence: stopped. The same command goes on from here; `make down` removes what there is.")
        raise typer.Exit(130) from None


@app.command()
def up() -> None:
    """From nothing to NPUs given out by the real scheduler: start all, deploy Pulumi.dev.yaml, try every template."""
    report = ConsoleReport(err)
    started = time.monotonic()
    with clear_errors():
        plan = plan_of_stack(places.CHECKOUT, STACK)
        print_table(servers_table(plan.templates))
        found = show.up(STACK, STACK, plan, places.CHECKOUT, report)
        with report.task("A pod for every template", 6):
            outcomes = show.try_all(found.sandbox, plan, report)
        print_table(trial_table(outcomes))
        _verdict(outcomes)
        version = found.sandbox.versions["kubernetes"]
        err.print(f"\nKubernetes {version} runs on {found.sandbox.server}. Took {spoken(time.monotonic() - started)}.")
        err.print(f"Look around:  export KUBECONFIG={found.sandbox.kubeconfig}", markup=False)
        err.print("End it:       make down")
    if not all(outcome.kept for outcome in outcomes):
        raise typer.Exit(WRONG)


@app.command("try")
def try_(as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False) -> None:
    """Start a pod for every template in a sandbox that is up, and judge the NPUs it is given."""
    with clear_errors():
        plan = plan_of_stack(places.CHECKOUT, STACK)
        sandbox = _running()
        outcomes = show.try_all(sandbox, plan, ConsoleReport(err))
    if as_json:
        print_json([outcome.plain() for outcome in outcomes])
    else:
        print_table(trial_table(outcomes))
        _verdict(outcomes)
    if not all(outcome.kept for outcome in outcomes):
        raise typer.Exit(WRONG)


@app.command()
def status(name: Name = STACK, as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False) -> None:
    """The truth about each process of a sandbox. Exit status 1 unless all are ready."""
    with clear_errors():
        parts = plane.status(name)
    if as_json:
        rows = [
            {"name": p.name, "state": p.state, "pid": p.pid, "port": p.port, "uptime": p.uptime, "log": str(p.log)}
            for p in parts
        ]
        print_json(rows)
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("process", "state", "pid", "port", "up for", "log"):
            table.add_column(column, no_wrap=column != "log", overflow="fold")
        for part in parts:
            uptime = "" if part.uptime is None else spoken(part.uptime)
            table.add_row(part.name, part.state, str(part.pid or ""), str(part.port or ""), uptime, str(part.log))
        print_table(table)
    if any(part.state != "ready" for part in parts):
        raise typer.Exit(WRONG)


@app.command()
def down(
    name: Name = STACK, every: Annotated[bool, typer.Option("--all", help="Every sandbox of this checkout.")] = False
) -> None:
    """End what the sandbox started, and nothing else, and remove its state."""
    report = ConsoleReport(err)
    with clear_errors():
        names = places.names() if every else [name]
        for each in names:
            plane.down(each, report)
            report.say(f"Sandbox {each} is down.")
        if not names:
            report.say("There is no sandbox here.")


@app.command()
def tools(
    oracles: Annotated[
        bool, typer.Option("--oracles", help="Also what only tests need: the scheduler's allocators, actionlint.")
    ] = False,
) -> None:
    """Say which programs the sandbox runs, from PATH or built from the pinned modules; build what is missing."""
    with clear_errors():
        wanted = pins.PROGRAMS + (pins.ORACLES + pins.LINTERS if oracles else ())
        found = toolchain.ensure(ConsoleReport(err), programs=wanted)
    for name, path in sorted(found.items()):
        out.print(f"{name}  {path}", markup=False)


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def pulumi(
    words: Annotated[list[str], typer.Argument(metavar="COMMAND [OPTION]…", help="What pulumi is to do.")],
) -> None:
    """Run pulumi on the stack in the sandbox, for instance `preview --diff`, with the sandbox's state and cluster."""
    with clear_errors():
        sandbox = _running()
        report = ConsoleReport(err)
        engine = Engine(sandbox, toolchain.ensure(report), places.CHECKOUT, report)
        done = engine.hand_over(words, STACK)
    if done:
        raise typer.Exit(done)


def _running() -> plane.Sandbox:
    sandbox = plane.find(STACK)
    if sandbox is None:
        fail("the sandbox is not up. Start it: make up", WRONG)
    return sandbox


def _verdict(outcomes: list[Outcome]) -> None:
    kept = sum(outcome.kept for outcome in outcomes)
    style = "green" if kept == len(outcomes) else "bold red"
    out.print(f"\n{kept} of {len(outcomes)} promises kept", style=style)
