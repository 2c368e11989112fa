"""The `ringfence` command's groups."""

from __future__ import annotations

import typer

from cli import claims, fence, pair, policy, sandbox, topo
from cli.bench import bench
from cli.preview_report import preview_report
from cli.simulate import simulate

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.add_typer(topo.app, name="topo")
app.add_typer(claims.app, name="claims")
app.add_typer(policy.app, name="policy")
app.command()(simulate)
app.add_typer(fence.app, name="fence")
sandbox.app.add_typer(pair.app, name="pair")
app.add_typer(sandbox.app, name="sandbox")
app.command()(bench)
app.command("preview-report")(preview_report)


@app.callback()
def ringfence() -> None:
    """Ascend NPUs by their real wiring, and confidential workloads, on Kubernetes."""
