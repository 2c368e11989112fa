"""What the tests of this room share: folders of their own, and a report that can be read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox import places, processes, toolchain
from sandbox.report import ConsoleReport


@dataclass
class Heard:
    """A report that remembers what was said."""

    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.lines.append(line)

    @contextmanager
    def task(self, title: str, usual: float | None = None) -> Iterator[None]:
        self.lines.append(title)
        yield

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(places.CACHE_VARIABLE, str(folder))
    return folder


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state root of the test's own; whatever carries its mark at the end is ended, however the test went."""
    folder = tmp_path / "state"
    monkeypatch.setenv(places.STATE_VARIABLE, str(folder))
    yield folder
    processes.end(processes.marked(folder), grace=1)


@pytest.fixture(scope="session")
def tools() -> Mapping[str, Path]:
    """The real programs, from PATH or the user's cache; built if they have to be."""
    return toolchain.ensure(ConsoleReport())
