"""`ringfence claims`: the templates of a server, and what the scheduler makes of claims."""

from __future__ import annotations

import typer

from cli.late import Late, group

COMMANDS = {
    "prove": Late(
        "cli.prove:prove_",
        "Prove every template in every state of its server: "
        "nothing lost, nothing broken, the worst cost of the search.",
    ),
    "allocate": Late(
        "cli.allocate:allocate",
        "Say which devices the scheduler would give to claims of one pod on a node, or why it would give none.",
    ),
    "check": Late(
        "cli.check:check_",
        "Say what would not work in claims, templates, classes and the pods that use them, and what to write instead.",
    ),
    "explain": Late(
        "cli.explain:explain",
        "Say what stands in the way of a pending claim, node by node, and the smallest changes that would make it fit.",
    ),
    "compile": Late(
        "cli.compile:compile_", "Print the ResourceClaimTemplates of a server as YAML that `kubectl apply` takes."
    ),
}

app = typer.Typer(
    cls=group(COMMANDS), no_args_is_help=True, help="Make, prove and check claims; tell what a claim is given."
)


@app.callback()
def claims() -> None:
    """Make, prove and check claims; tell what a claim is given."""
