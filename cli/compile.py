"""`ringfence claims compile`: the templates of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from cli.output import MISUSED, fail, out, print_json, print_table, warn
from cli.server import load
from cli.why import why_table
from topology.claims import compile_server, compile_templates
from topology.errors import TopologyError
from topology.profiles import PROFILES, profile
from topology.reasons import data, reasons


def compile_(
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="A folder of servers/, its name, or a captured file.")
    ],
    count: Annotated[int | None, typer.Option(help="Only templates for this many NPUs.")] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="One file for each template.")] = None,
    driver: Annotated[str, typer.Option("--profile", help=f"The NPU driver: {', '.join(PROFILES)}.")] = "openfuyao",
    tell_why: Annotated[
        bool, typer.Option("--why", help="Instead tell why each is written as it is: its form's costs, and others'.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --why: print data.")] = False,
) -> None:
    """Print the ResourceClaimTemplates of a server as YAML that `kubectl apply` takes."""
    if as_json and not tell_why:
        fail("--json: templates are printed as YAML. Use it with --why, or leave it out.", MISUSED)
    if tell_why and out_dir is not None:
        fail("--why and --out: one writes templates, the other tells of them. Use one of the two.", MISUSED)
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
    if tell_why:
        told = reasons(found, templates, profile(driver))
        if as_json:
            print_json([data(reason) for reason in told])
        else:
            print_table(why_table(told))
        return
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
