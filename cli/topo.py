"""`ringfence topo`: a server's wiring, for a person or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.output import err, print_json, print_table, warn
from cli.server import load
from cli.table import spans
from topology.groups import Partition, groups, members
from topology.model import Relation, Server
from topology.report import report

app = typer.Typer(no_args_is_help=True, help="Read how a server's NPUs are wired.")

_STYLE = {
    Relation.SELF: "dim",
    Relation.SIO: "bold magenta",
    Relation.HCCS: "bold green",
    Relation.UB: "bold green",
    Relation.HCCS_SW: "green",
    Relation.PIX: "bold cyan",
    Relation.PXB: "cyan",
    Relation.PHB: "yellow",
    Relation.SYS: "dim",
    Relation.NA: "bold red",
}


@app.command()
def show(
    server: Annotated[
        str,
        typer.Argument(
            metavar="SERVER", help="A file that npu-smi's output was kept in, - for a pipe, a folder, or a name."
        ),
    ],
    info: Annotated[Path | None, typer.Option(metavar="FILE", help="What `npu-smi info` printed there.")] = None,
    pci: Annotated[Path | None, typer.Option(metavar="FILE", help="Root complexes; see docs/capture.md.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the data instead of the picture.")] = False,
) -> None:
    """Show the matrix and the groups of a server: what `npu-smi info -t topo` printed, and what it means."""
    found = load(server, info, pci)
    if as_json:
        print_json(report(found))
        return
    print_table(matrix(found), whole=True)
    print_table(summary(found), whole=True)
    for warning in (*found.warnings, *found.faults):
        warn(warning)
    if found.assumptions:
        assumed = ", ".join(f"{key} = {value}" for key, value in sorted(found.assumptions.items()))
        err.print(f"assumed, not captured: {assumed}", markup=False)


def matrix(server: Server) -> Table:
    """The relations, coloured by how close they are."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title=f"{server.name}", title_justify="left")
    table.add_column("")
    for id in server.ids:
        table.add_column(str(id), justify="center")
    known = any(npu.affinity is not None for npu in server.npus)
    if known:
        table.add_column("CPU affinity")
    for npu, row in zip(server.npus, server.relations, strict=True):
        cells = [Text(str(cell), style=_STYLE[cell]) for cell in row]
        table.add_row(f"{server.label}{npu.id}", *cells, *([npu.affinity or "?"] if known else []))
    return table


def summary(server: Server) -> Table:
    """The groups, one line for each kind."""
    made = groups(server)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    ub = any(Relation.UB in row for row in server.relations)
    ring = "UB groups" if ub else "HCCS rings"
    chips = sorted({npu.chip for npu in server.npus if npu.chip is not None})
    table.add_row("NPUs", f"{len(server.npus)}{' × ' + ', '.join(chips) if chips else ', chip unknown'}")
    for name, partition in (
        (ring, made.ring),
        ("SIO modules", made.sio),
        ("PIX groups", made.pix),
        ("PHB groups", made.phb),
    ):
        table.add_row(name, _sets(partition) or "none")
    table.add_row("NUMA nodes", _nodes(server, made.numa))
    return table


def _sets(partition: Partition) -> str:
    return "  ".join("{" + spans(sorted(group)) + "}" for group in members(partition))


def _nodes(server: Server, partition: Partition) -> str:
    """By affinity; with the kernel's number only where it was captured."""
    if not members(partition):
        numbers = {npu.id: npu.numa_node for npu in server.npus}
        return "  ".join(f"{n}:{{{spans(sorted(group))}}}" for n, group in _numbered(numbers)) or "unknown"
    return _sets(partition)


def _numbered(partition: Partition) -> list[tuple[int, list[int]]]:
    nodes: dict[int, list[int]] = {}
    for id, number in partition.items():
        if number is not None:
            nodes.setdefault(number, []).append(id)
    return sorted(nodes.items())
