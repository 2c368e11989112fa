"""How this room tells what it is doing: in words and, for what takes long, with the time it takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Report(Protocol):
    """What every function of this room that takes its time is given."""

    def say(self, line: str) -> None:
        """Say one line."""

    def task(self, title: str, usual: float | None = None) -> AbstractContextManager[None]:
        """Show that `title` is going on until the context ends. `usual`: seconds it usually takes."""


class Silent:
    """Says nothing."""

    def say(self, line: str) -> None:
        """Drop it."""

    def task(self, title: str, usual: float | None = None) -> AbstractContextManager[None]:  # noqa: ARG002
        """Only wait for it."""
        return nullcontext()


class ConsoleReport:
    """For a person: a moving line on a terminal; elsewhere one line at the start, one at the end, one a minute.

    heartbeat: seconds between two signs of life where nothing can move.
    """

    def __init__(self, console: Console | None = None, *, heartbeat: float = 60.0) -> None:
        self.console = console or Console(stderr=True)
        self.heartbeat = heartbeat

    def say(self, line: str) -> None:
        """Print it as it is: brackets in it are text, not markup."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def task(self, title: str, usual: float | None = None) -> Iterator[None]:
        """A spinner with the elapsed time on a terminal, plain lines elsewhere."""
        hint = f" (usually {spoken(usual)})" if usual else ""
        started = time.monotonic()
        with self._moving(title + hint) if self.console.is_terminal else self._plain(title, hint):
            yield
        self.say(f"{title}: done in {spoken(time.monotonic() - started)}")

    @contextmanager
    def _moving(self, text: str) -> Iterator[None]:
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            progress.add_task(text, total=None)
            yield

    @contextmanager
    def _plain(self, title: str, hint: str) -> Iterator[None]:
        self.say(f"{title}{hint} …")
        done = threading.Event()
        started = time.monotonic()

        def beat() -> None:
            while not done.wait(self.heartbeat):
                self.say(f"{title}: {spoken(time.monotonic() - started)} so far{hint}")

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def spoken(seconds: float) -> str:
    """Seconds as a person says them: `0.4 s`, `42 s`, `5 min 30 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
