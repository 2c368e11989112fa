"""`ringfence sandbox`, with `pair` in it."""

from __future__ import annotations

from cli import pair
from cli.sandbox import app

app.add_typer(pair.app, name="pair")
