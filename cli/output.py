"""How every command speaks: data on standard output, all else on standard error."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

DONE, WRONG, MISUSED = 0, 1, 2
"""Exit status: done; what was asked about is wrong; it was asked wrongly."""

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def fail(message: str, status: int = WRONG) -> NoReturn:
    """One clear error, and the exit status."""
    err.print(f"ringfence: {message}", markup=False)
    raise typer.Exit(status)


def warn(message: str) -> None:
    err.print(f"warning: {message}", markup=False)


def print_table(table: Table, *, whole: bool = False) -> None:
    """A table with nothing in it cut. On a terminal it folds to fit, unless it must stay whole."""
    for column in table.columns:
        # By default a word that is longer than its column loses its end.
        column.overflow = "fold"
    wide = Console(width=10_000, highlight=False)
    natural = Measurement.get(wide, wide.options, table).maximum
    wide.width = min(natural, out.width) if out.is_terminal and not whole else natural
    wide.print(table, crop=False)


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
