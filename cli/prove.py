"""`ringfence claims prove`: the proof table, worked out once for each content and kept beside the captures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from cli.output import MISUSED, WRONG, err, fail, print_json, print_table
from cli.proofs_page import proofs_page
from cli.server import load
from settings.proofs import read_proofs, write_proofs
from settings.servers import proofs_of, shipped_names
from topology.claims import compile_templates
from topology.errors import TopologyError
from topology.model import Server
from topology.profiles import PROFILES, DriverProfile, profile
from topology.proof import Proof, key, prove
from topology.template import Template


def prove_(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[SERVER]…", help="Servers; without one, all of servers/.")
    ] = None,
    driver: Annotated[str, typer.Option("--profile", help=f"The NPU driver: {', '.join(PROFILES)}.")] = "openfuyao",
    anew: Annotated[bool, typer.Option("--anew", help="Prove again what is proven.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
    docs: Annotated[
        Path | None,
        typer.Option("--docs", metavar="FILE", help="Also write the table, with forms and why, as Markdown."),
    ] = None,
) -> None:
    """Prove every template in every state of its server: nothing lost, nothing broken, the worst cost of the search.

    The proofs of a folder of servers/ are kept in its proofs.json, which `pulumi up` asks for.
    """
    if driver not in PROFILES:
        fail(f"--profile {driver}: there is no such driver profile. Write one of {', '.join(PROFILES)}.", MISUSED)
    spoken = profile(driver)
    servers = [(name, load(name)) for name in names or shipped_names()]
    work: list[tuple[Server, Template, DriverProfile]] = []
    known: dict[str, Proof] = {}
    for name, server in servers:
        try:
            work += [(server, template, spoken) for template in compile_templates(server, spoken)]
        except TopologyError as error:
            fail(f"{name}: {error}")
        known |= {} if anew else read_proofs(proofs_of(name))
    try:
        proofs = _prove(work, known)
    except TopologyError as error:
        fail(str(error))
    for name, server in servers:
        place = proofs_of(name)
        mine = [proof for (its, _, _), proof in zip(work, proofs, strict=True) if its is server]
        if place is not None:
            kept = [*mine, *_of_other_drivers(read_proofs(place), mine, server)]
            if list(read_proofs(place).values()) != kept:
                write_proofs(place, kept)
    if docs is not None:
        _write_docs(docs, servers, spoken, proofs)
    if as_json:
        print_json([{name: value for name, value in asdict(proof).items() if name != "key"} for proof in proofs])
    else:
        print_table(_table(proofs))
    if not all(proof.holds for proof in proofs):
        raise typer.Exit(WRONG)


def _prove(work: list[tuple[Server, Template, DriverProfile]], known: dict[str, Proof]) -> list[Proof]:
    keys = [key(*item) for item in work]
    open_ = [(index, item) for index, item in enumerate(work) if keys[index] not in known]
    # A proof is of content, so it may have been found under the name of an equal server's template.
    found = {
        index: replace(known[name], template=work[index][1].name) for index, name in enumerate(keys) if name in known
    }
    if open_:
        with Progress(console=err, transient=True) as bar, ProcessPoolExecutor(os.cpu_count()) as pool:
            task = bar.add_task(f"{len(open_)} proofs", total=len(open_))
            # The largest first: they take the longest, and the last one must not run alone.
            open_.sort(key=lambda row: (-len(row[1][0].npus), -row[1][1].count))
            for (index, _), proof in zip(open_, pool.map(_one, (item for _, item in open_)), strict=True):
                found[index] = proof
                bar.advance(task)
    return [found[index] for index in range(len(work))]


def _of_other_drivers(known: Mapping[str, Proof], mine: list[Proof], server: Server) -> list[Proof]:
    """The proofs, beside these, of what is compiled for the server today with any driver's profile."""
    others = {
        key(server, template, other) for other in PROFILES.values() for template in compile_templates(server, other)
    }
    return [proof for name, proof in known.items() if name in others - {proof.key for proof in mine}]


def _write_docs(path: Path, servers: list[tuple[str, Server]], spoken: DriverProfile, proofs: list[Proof]) -> None:
    by_name = {proof.template: proof for proof in proofs}
    try:
        path.write_text(proofs_page([server for _, server in servers], spoken, by_name), encoding="utf-8")
    except OSError as error:
        fail(f"--docs {path}: {error.strerror}. Name a file that can be written.", MISUSED)


def _one(item: tuple[Server, Template, DriverProfile]) -> Proof:
    return prove(*item)


def _table(proofs: list[Proof]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("template", "NPUs", "states", "lost", "broken", "worst calls", "in the state with these free"):
        table.add_column(column, justify="left" if column in ("template", "in the state with these free") else "right")
    for proof in proofs:
        style = "" if proof.holds else "bold red"
        table.add_row(
            Text(proof.template, style=style),
            str(proof.count),
            str(proof.states),
            Text(str(proof.lost), style=style),
            Text(str(proof.broken), style=style),
            str(proof.worst_calls),
            ",".join(map(str, proof.worst_state)),
        )
    return table
