"""Sandboxes of the tests' own: their state is apart from what the user has running, and nothing of them stays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sandbox import places, plane
from sandbox.report import Report


@contextmanager
def state_in(folder: Path) -> Iterator[None]:
    """Sandboxes are made and found in there."""
    before = os.environ.get(places.STATE_VARIABLE)
    os.environ[places.STATE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[places.STATE_VARIABLE]
        else:
            os.environ[places.STATE_VARIABLE] = before


@contextmanager
def sandbox_in(folder: Path, name: str, tools: Mapping[str, Path], report: Report) -> Iterator[plane.Sandbox]:
    """It is up for as long as the block lasts. tools: as sandbox.toolchain.ensure returns them."""
    with state_in(folder):
        try:
            yield plane.up(name, tools, report)
        finally:
            plane.down(name, report)
