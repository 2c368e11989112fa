"""The `ringfence` command's groups."""

from __future__ import annotations

import typer

from cli.late import Late, group

COMMANDS = {
    "simulate": Late(
        "cli.simulate:simulate",
        "Simulate jobs that come and go, and report how often those of each size fit.",
    ),
    "bench": Late(
        "cli.bench:bench",
        "Measure our templates against the proposal's layouts and plain claims, on the real scheduler. "
        "About 3 minutes.",
    ),
    "preview-report": Late(
        "cli.preview_report:preview_report",
        "Report what `pulumi preview --json` would do and what that means, as one comment for a pull request.",
    ),
    "topo": Late("cli.topo:app", "Read how a server's NPUs are wired."),
    "claims": Late("cli.claims:app", "Make, prove and check claims; tell what a claim is given."),
    "policy": Late("cli.policy:app", "The rules of the policy pack and of `claims check`."),
    "fence": Late("cli.fence:app", "Confidential containers: keys of the key broker, and more."),
    "sandbox": Late("cli.sandboxes:app", "A real API server and scheduler on loopback, to try a stack on."),
}

app = typer.Typer(cls=group(COMMANDS), no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def ringfence() -> None:
    """Ascend NPUs by their real wiring, and confidential workloads, on Kubernetes."""
