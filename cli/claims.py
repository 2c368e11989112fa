"""`ringfence claims`: the templates of a server, and what the scheduler makes of claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from cli.allocate import allocate
from cli.explain import explain
from cli.output import MISUSED, fail, out, warn
from cli.prove import prove_
from cli.server import load
from topology.claims import compile_server, compile_templates
from topology.errors import TopologyError
from topology.profiles import PROFILES, profile

app = typer.Typer(no_args_is_help=True, help="Make and prove claim templates; tell what a claim is given.")
app.command("prove")(prove_)
app.command()(allocate)
app.command()(explain)


@app.command("compile")
def compile_(
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="A folder of servers/, its name, or a captured file.")
    ],
    count: Annotated[int | None, typer.Option(help="Only templates for this many NPUs.")] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="One file for each template.")] = None,
    driver: Annotated[str, typer.Option("--profile", help=f"The NPU driver: {', '.join(PROFILES)}.")] = "openfuyao",
) -> None:
    """Print the ResourceClaimTemplates of a server as YAML that `kubectl apply` takes."""
    if driver not in PROFILES:
        fail(f"--profile {driver}: there is no such driver profile. Write one of {', '.join(PROFILES)}.", MISUSED)
    found = load(server)
    try:
        templates = compile_templates(found, profile(driver), None if count is None else [count])
        refused = compile_server(found, profile(driver)).refused
    except TopologyError as error:
        fail(f"{server}: {error}")
    for warning in found.warnings:
        warn(warning)
    for missing in refused:
        if count is None or missing.count == count:
            warn(f"no template for {missing.count} NPUs, {missing.shape}: {missing.reason}")
    if out_dir is None:
        typer.echo(yaml.safe_dump_all([template.manifest() for template in templates], sort_keys=False), nl=False)
        return
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        for template in templates:
            text = yaml.safe_dump(template.manifest(), sort_keys=False)
            (out_dir / f"{template.name}.yaml").write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"--out {out_dir}: {error.strerror}. Name a folder that can be written to.", MISUSED)
    out.print(f"{len(templates)} templates in {out_dir}", markup=False)
