"""`ringfence sandbox pair`: two control planes and stand-ins for the operators, to try a fence stack on."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from cli.output import WRONG, err, fail
from cli.sandbox import clear_errors
from sandbox import pair, places, toolchain
from sandbox.report import ConsoleReport, spoken

app = typer.Typer(
    no_args_is_help=True, help="Two clusters on loopback, with stand-ins for cc-operator and trustee-operator."
)


@app.command()
def up() -> None:
    """Start both, with simulated confidential nodes and the stand-ins. They act once a stack installs the operators."""
    report = ConsoleReport(err)
    started = time.monotonic()
    with clear_errors():
        tools = toolchain.ensure(report)
        with report.task("Starting two control planes", 12):
            found = pair.up(tools, report)
            pair.start_operators(found, report)
    for each in (found.workload, found.trusted):
        err.print(f"Context {each.context}: {each.server}")
    err.print(f"Took {spoken(time.monotonic() - started)}.")
    kubeconfig = found.engine(tools, places.CHECKOUT, report).kubeconfig
    err.print(f"Look around:     export KUBECONFIG={kubeconfig}", markup=False)
    err.print("Keys for it:     ringfence fence keys --pair --stack STACK --host HOST", markup=False)
    err.print("Deploy a stack:  ringfence sandbox pair pulumi STACK up", markup=False)
    err.print("End it:          ringfence sandbox pair down")


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def pulumi(
    stack: Annotated[str, typer.Argument(help="Whose stack file, Pulumi.STACK.yaml, names the two contexts.")],
    words: Annotated[list[str], typer.Argument(metavar="COMMAND [OPTION]…", help="What pulumi is to do.")],
) -> None:
    """Run pulumi on a stack for both clusters, with the pair's state, for instance `fence preview --diff`."""
    with clear_errors():
        found = pair.find()
        if found is None:
            fail("the two clusters are not up. Start them: ringfence sandbox pair up", WRONG)
        report = ConsoleReport(err)
        done = found.engine(toolchain.ensure(report), places.CHECKOUT, report).hand_over(words, stack)
    if done:
        raise typer.Exit(done)


@app.command()
def down() -> None:
    """End both and the stand-ins, and remove their state."""
    report = ConsoleReport(err)
    with clear_errors():
        pair.down(report)
    report.say("Both clusters are down.")
