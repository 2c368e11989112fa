"""One at a time: a file lock that says for whom it waits."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from sandbox import files, places
from sandbox.errors import BusyError
from sandbox.report import Report, spoken


def path_for(thing: Path, kind: str) -> Path:
    """The lock file for a folder. It lies in the cache: a lock inside a folder cannot outlive the folder's removal."""
    digest = hashlib.sha256(str(thing).encode()).hexdigest()[:16]
    return places.private(places.cache_root() / "locks") / f"{kind}-{digest}.lock"


@contextmanager
def hold(path: Path, doing: str, report: Report, *, limit: float, poll: float = 0.1) -> Iterator[None]:
    """Hold the lock `path` while `doing` (words for whoever has to wait for us).

    limit: seconds to wait for another holder; after that BusyError. The kernel frees the lock of a process that died.
    """
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        holder = _holder(path)
        report.say(f"Waiting for {holder} (at most {spoken(limit)}) …")
        started = time.monotonic()
        try:
            lock.acquire(timeout=limit, poll_interval=poll)
        except Timeout:
            raise BusyError(
                f"{_holder(path)} has not finished in {spoken(limit)}.",
                remedy="Wait for it, or stop that process, then run this again.",
            ) from None
        report.say(f"Waited {spoken(time.monotonic() - started)}; going on.")
    try:
        files.write_whole(_note(path), json.dumps({"pid": os.getpid(), "doing": doing}))
        yield
    finally:
        _note(path).unlink(missing_ok=True)
        lock.release()


def _note(path: Path) -> Path:
    return path.with_suffix(".holder")


def _holder(path: Path) -> str:
    """The holder in words. The note is only for people: it may be missing or stale, the lock itself never is."""
    try:
        note = files.read_object(_note(path)) or {}
        pid = int(note["pid"])
        return f"process {pid} ({psutil.Process(pid).name()}), which is busy: {note['doing']}"
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return "another run"
