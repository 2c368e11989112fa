"""The tables that `make up` ends with and begins with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from topology.groups import Partition, groups, members
from topology.model import Server
from topology.template import Template

if TYPE_CHECKING:
    from sandbox.trial import Outcome


def trial_table(outcomes: Iterable[Outcome]) -> Table:
    """A row for each template: what it promised, what the scheduler gave, whether that keeps the promise."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("server", "template", "NPUs", "node", "given", "promise", "kept", "assumes"):
        table.add_column(column, no_wrap=column not in ("given", "promise", "assumes"), overflow="fold")
    last = ""
    for outcome in outcomes:
        kept = (
            Text("yes", style="green") if outcome.kept else Text("NO: " + "; ".join(outcome.broken), style="bold red")
        )
        table.add_row(
            "" if outcome.server == last else outcome.server,
            outcome.template,
            str(outcome.count),
            outcome.node or "none",
            spans(outcome.devices) or "none",
            outcome.promise or "none",
            kept,
            outcome.assumes or "",
        )
        last = outcome.server
    return table


def servers_table(rows: Iterable[tuple[Server, Sequence[Template]]]) -> Table:
    """What is known of each server before anything is started."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("server", "NPUs", "rings", "modules", "PIX pairs", "NUMA nodes", "templates", "largest job"):
        table.add_column(column, justify="left" if column == "server" else "right")
    for server, templates in rows:
        made = groups(server)
        counts = [_sizes(partition) for partition in (made.ring, made.sio, made.pix, made.numa)]
        largest = str(max((template.count for template in templates), default=0))
        table.add_row(server.name, str(len(server.npus)), *counts, str(len(templates)), largest)
    return table


def _sizes(partition: Partition) -> str:
    sets = members(partition)
    if not sets:
        return "-"
    sizes = sorted({len(group) for group in sets})
    return f"{len(sets)} × {'/'.join(map(str, sizes))}"


def spans(ids: Sequence[int]) -> str:
    """Ids in rising order as ranges: (0, 1, 2, 5) → "0-2,5"."""
    parts: list[list[int]] = []
    for id in ids:
        if parts and id == parts[-1][-1] + 1:
            parts[-1].append(id)
        else:
            parts.append([id])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
