"""`ringfence claims allocate`: what the scheduler would give to claims on a node, from files alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.table import Table

from cli.files import read_objects
from cli.output import MISUSED, WRONG, fail, out, print_json, print_table
from topology.allocator import (
    NEWEST,
    VERSIONS,
    Allocated,
    Claim,
    Fatal,
    Malformed,
    Node,
    Outcome,
    TooLong,
    Unmodelled,
    World,
    read_world,
)
from topology.allocator import allocate as allocate_

LIMIT = 10_000_000
"""Calls after which a search is given up here: more than the scheduler makes (see topology.allocator.allocate)."""


def allocate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="DeviceClasses, ResourceSlices, Nodes and ResourceClaims, YAML or JSON."),
    ],
    node: Annotated[str, typer.Option("--node", metavar="NODE", help="The node to allocate on.")],
    names: Annotated[
        list[str] | None,
        typer.Option("--claim", metavar="NS/NAME", help="A pending claim; all of them if not given."),
    ] = None,
    version: Annotated[
        str, typer.Option("--kubernetes", help=f"Whose scheduler: {', '.join(VERSIONS)}.")
    ] = NEWEST.name,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
) -> None:
    """Say which devices the scheduler would give to claims of one pod on a node, or why it would give none.

    Claims with a status.allocation hold what it says. Exit status 1 if there is nothing for the claims; 2 for what the
    replica does not model, which it refuses instead of guessing.
    """
    if version not in VERSIONS:
        fail(f"--kubernetes {version}: write one of {', '.join(VERSIONS)}.", MISUSED)
    try:
        world = read_world([thing for path in files for thing in read_objects(path)])
        claims = _pending(world, names)
        outcome = allocate_(world, _node(world, node), claims, VERSIONS[version], LIMIT)
    except Malformed as error:
        fail(str(error), MISUSED)
    except Unmodelled as error:
        _unmodelled(error.feature, str(error), as_json)
    except TooLong:
        feature = f"a search of more than {LIMIT:,} calls"
        _unmodelled(feature, f"{feature} is given up. The scheduler gives up after 10 s, on every node.", as_json)
    if as_json:
        print_json(plain(outcome, claims))
    else:
        _show(outcome, claims)
    if not isinstance(outcome, Allocated):
        raise typer.Exit(WRONG)


def plain(outcome: Outcome, claims: Sequence[Claim]) -> dict[str, Any]:
    """The outcome as data."""
    if isinstance(outcome, Fatal):
        return {"error": outcome.why}
    if not isinstance(outcome, Allocated):
        return {"unsatisfiable": outcome.why, "calls": outcome.calls}
    allocations = [
        {"claim": claim.key, "devices": [vars(given) for given in devices]}
        for claim, devices in zip(claims, outcome.devices, strict=True)
    ]
    return {"allocations": allocations, "calls": outcome.calls}


def _show(outcome: Outcome, claims: Sequence[Claim]) -> None:
    if isinstance(outcome, Fatal):
        out.print(f"The scheduler fails the pod on every node: {outcome.why}.", markup=False)
        return
    if not isinstance(outcome, Allocated):
        out.print(f"Nothing: {outcome.why}. Tried in {outcome.calls} calls.", markup=False)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("claim", "request", "driver", "pool", "device"):
        table.add_column(column)
    for claim, devices in zip(claims, outcome.devices, strict=True):
        for given in devices:
            table.add_row(claim.key, given.request, given.driver, given.pool, given.device)
    print_table(table)
    out.print(f"\nFound in {outcome.calls} calls.")


def _unmodelled(feature: str, message: str, as_json: bool) -> NoReturn:
    if not as_json:
        fail(message, MISUSED)
    print_json({"unmodelled": feature})
    raise typer.Exit(MISUSED)


def _pending(world: World, names: Sequence[str] | None) -> list[Claim]:
    by_name = {claim.key: claim for claim in world.claims}
    if not names:
        pending = [claim for claim in world.claims if claim.taken is None]
        if not pending:
            fail("no ResourceClaim in these files is pending. Add one without a status.allocation.", MISUSED)
        return pending
    for name in names:
        if name not in by_name:
            known = ", ".join(by_name) or "none"
            fail(f"--claim {name}: no such ResourceClaim in these files. They have {known}.", MISUSED)
        if by_name[name].taken is not None:
            fail(f"--claim {name}: it is allocated already. Name one that is pending.", MISUSED)
        if names.count(name) > 1:
            fail(f"--claim {name}: it is named twice.", MISUSED)
    return [by_name[name] for name in names]


def _node(world: World, name: str) -> Node:
    for node in world.nodes:
        if node.name == name:
            return node
    selectors = [slice.node_selector for slice in world.slices]
    selectors += [device.node_selector for slice in world.slices for device in slice.devices]
    named = {slice.node_name for slice in world.slices}
    named |= {device.node_name for slice in world.slices for device in slice.devices}
    if name not in named or any(selectors):
        known = ", ".join(sorted(node.name for node in world.nodes)) or "none"
        fail(f"--node {name}: no such Node in these files. They have {known}.", MISUSED)
    # Its labels decide nothing here.
    return Node(name)
