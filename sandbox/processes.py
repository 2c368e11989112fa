"""Processes that outlive the command that started them: started, recorded, recognised again, stopped.

A record holds the pid together with the time the process was created, so that a pid that the system gave to someone
else is never taken for ours. Each process also carries a mark in its environment, the path of its record. The mark
finds what a record cannot: a process whose starter was killed before it could write down the pid.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from sandbox import files
from sandbox.errors import SandboxError

MARK = "RINGFENCE_PROCESS"

_CLOCK_SLACK = 2.0
"""Seconds by which the creation time of one and the same process may seem to move when the clock is set."""

_children: dict[int, subprocess.Popen[bytes]] = {}
"""Those started by this very process, kept because only a parent can learn an exit status."""


@dataclass(frozen=True)
class Record:
    """What is known of a started process.

    pid, created: None between the decision to start it and its start.
    created: seconds since the epoch, as the system tells it.
    fingerprint: whatever the caller wants to compare later, to see whether the process is still the one it wants.
    """

    name: str
    command: list[str]
    fingerprint: str
    log: str
    pid: int | None = None
    created: float | None = None


def record_path(folder: Path, name: str) -> Path:
    """The file of a record."""
    return folder / f"{name}.json"


def read(folder: Path, name: str) -> Record | None:
    """The record of a process; None if there is none, or none that can be read (its mark still finds the process)."""
    try:
        found = files.read_object(record_path(folder, name))
        return None if found is None else Record(**found)
    except (OSError, ValueError, TypeError):
        return None


def start(
    folder: Path, name: str, command: Sequence[str], *, environment: Mapping[str, str], log: Path, fingerprint: str = ""
) -> Record:
    """Start a process in a session of its own (a Ctrl-C meant for us does not reach it), its output going to `log`.

    The log of the run before is kept as `<log>.1`. SandboxError if the program cannot be run at all.
    """
    path = record_path(folder, name)
    intent = Record(name, list(command), fingerprint, str(log))
    files.write_whole(path, json.dumps(asdict(intent)))
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))
    try:
        with log.open("wb") as output:
            child = subprocess.Popen(
                command,
                cwd=folder,
                env={**environment, MARK: str(path)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        path.unlink(missing_ok=True)
        raise SandboxError(
            f"{name} cannot be started: {command[0]}: {error.strerror}.",
            remedy="Check that this file is there and may be run.",
        ) from error
    _children[child.pid] = child
    # A child that is already gone is a zombie until we ask for its status: its creation time can still be read.
    record = Record(name, list(command), fingerprint, str(log), child.pid, psutil.Process(child.pid).create_time())
    files.write_whole(path, json.dumps(asdict(record)))
    return record


def find(folder: Path, name: str) -> psutil.Process | None:
    """The living process behind a record, by pid and creation time, else by its mark; None if there is none."""
    record = read(folder, name)
    if record is not None and record.pid is not None and record.created is not None:
        process = _living(record.pid)
        if process is not None and _same(process, record.created):
            return process
        return None
    if not record_path(folder, name).exists():
        return None
    return next(iter(marked(record_path(folder, name))), None)


def marked(path: Path) -> list[psutil.Process]:
    """Living processes that carry the mark of this record, or of any record in it if it is a folder; oldest first."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = process.environ().get(MARK)
            if mark and path in (Path(mark), *Path(mark).parents) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return sorted(found, key=lambda process: process.create_time())


def exit_status(record: Record) -> int | None:
    """The exit status of a process that this very process started (negative: the signal), None if unknown."""
    child = _children.get(record.pid or -1)
    return None if child is None else child.poll()


def stop(folder: Path, names: Iterable[str], *, grace: float = 10.0) -> None:
    """End these processes and return once they are gone, their records removed: SIGTERM, `grace` seconds, SIGKILL."""
    wanted = list(names)
    end([process for name in wanted if (process := find(folder, name)) is not None], grace=grace)
    for name in wanted:
        record_path(folder, name).unlink(missing_ok=True)


def end(ours: Sequence[psutil.Process], *, grace: float = 10.0) -> None:
    """End processes and wait until they are gone. SandboxError if one will not go."""
    for process in ours:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
            # A stopped process would sleep through it.
            process.resume()
    _, left = psutil.wait_procs(ours, timeout=grace)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _, left = psutil.wait_procs(left, timeout=10)
    for process in ours:
        child = _children.pop(process.pid, None)
        if child is not None:
            child.poll()
    if left:
        raise SandboxError(
            f"Process {left[0].pid} does not end, not even by SIGKILL.",
            remedy="It hangs in the kernel, most likely on a disk that does not answer. Look at that first.",
        )


def uptime(process: psutil.Process) -> float:
    """Seconds since it was created."""
    return max(0.0, time.time() - process.create_time())


def _living(pid: int) -> psutil.Process | None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        return None
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process
    except psutil.NoSuchProcess:
        return None


def _same(process: psutil.Process, created: float) -> bool:
    try:
        return abs(process.create_time() - created) <= _CLOCK_SLACK
    except psutil.NoSuchProcess:
        return False
