"""How every command speaks: data on standard output, all else on standard error."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import typer
from rich.console import Console

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


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
