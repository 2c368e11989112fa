"""Building one pinned program into the cache, all of it or nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox import failures, pins, places
from sandbox.errors import BuildError, NoSpaceError, StoppedError
from sandbox.golang import Go
from sandbox.pins import Program

_BUILDING = ".building-"


@dataclass(frozen=True)
class _Job:
    """One build: what, with which Go, in which temporary folder, and what makes it give up."""

    program: Program
    go: Go
    work: Path
    log: Path
    stop: threading.Event | None

    @property
    def source(self) -> Path:
        return self.work / "source"

    @property
    def out(self) -> Path:
        return self.work / "out"


def folder(program: Program) -> Path:
    """Where the finished build of these pins is, or will be."""
    return places.cache_root() / f"{program.name}-{pins.key(program)}"


def finished(program: Program) -> dict[str, Path] | None:
    """Its binaries if they have been built, else None. The folder appears in one step: it is whole if it is there."""
    place = folder(program)
    found = {name: place / name for name in program.packages}
    return found if all(path.is_file() for path in found.values()) else None


def log_of(program: Program) -> Path:
    """The log of its last build."""
    return places.private(places.cache_root() / "logs") / f"{program.name}.log"


def clear_stale() -> None:
    """Remove what killed builds left. Only for the holder of the toolchain's lock: nobody else builds then."""
    for left in places.cache_root().glob(f"{_BUILDING}*"):
        shutil.rmtree(left, ignore_errors=True)


def build(program: Program, go: Go, stop: threading.Event | None = None) -> dict[str, Path]:
    """Build it; the caller holds the toolchain's lock.

    Raises an error of sandbox.failures.of_build with the end of the log, or StoppedError once `stop` is set. However
    this ends, go and its children have ended too, and nothing unfinished lies where `finished` looks.
    """
    log = log_of(program)
    work = Path(tempfile.mkdtemp(dir=places.private(places.cache_root()), prefix=f"{_BUILDING}{program.name}-"))
    job = _Job(program, go, work, log, stop)
    try:
        _lay_out(job)
        _go(job, ["build", "-trimpath", "-ldflags", program.ldflags, *_targets(job)])
        _publish(job)
    except OSError as error:
        raise NoSpaceError(
            f"Building {program.name} failed to write {error.filename}: {error.strerror}.",
            remedy="Check the free space and the permissions of that folder, or point RINGFENCE_CACHE elsewhere.",
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {name: folder(program) / name for name in program.packages}


def _lay_out(job: _Job) -> None:
    """Copy the pins, and what is embedded, so that a build never writes into the checkout."""
    job.source.mkdir()
    job.out.mkdir()
    job.log.write_text("", encoding="utf-8")
    for name in ("go.mod", "go.sum", "main.go"):
        if (job.program.folder / name).exists():
            shutil.copyfile(job.program.folder / name, job.source / name)
    embedded = job.program.embedded
    if embedded is None:
        return
    answer = job.work / "module.json"
    _go(job, ["mod", "download", "-json", embedded.module], output=answer)
    module = Path(json.loads(answer.read_text(encoding="utf-8"))["Dir"])
    for name in embedded.files:
        content = json.loads((module / embedded.folder / name).read_text(encoding="utf-8"))
        if name == "schema.json":
            content["version"] = embedded.version
        (job.source / name).write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


def _targets(job: _Job) -> list[str]:
    packages = job.program.packages
    if len(packages) == 1:
        # Said in full: Go would name the binary of go.etcd.io/etcd/server/v3 `server`.
        [(name, package)] = packages.items()
        return ["-o", str(job.out / name), package]
    return ["-o", f"{job.out}/", *packages.values()]


def _go(job: _Job, arguments: list[str], output: Path | None = None) -> None:
    """Run one go command, its errors (and, without `output`, its output) appended to the log."""
    # The user's GOFLAGS stay (-p=1, say), only -mod is ours: the pins decide, nothing is updated on the way.
    kept = [flag for flag in os.environ.get("GOFLAGS", "").split() if not flag.startswith("-mod=")]
    environment = os.environ | {"GOFLAGS": " ".join([*kept, "-mod=readonly"]), "GOWORK": "off"}
    with job.log.open("a", encoding="utf-8") as errors, (output or job.log).open("a", encoding="utf-8") as out:
        errors.write(f"$ go {' '.join(arguments)}\n")
        errors.flush()
        process = subprocess.Popen(
            [job.go.binary, *arguments],
            cwd=job.source,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        try:
            status = _wait(process, job)
        except BaseException:
            # The whole group: go itself only waits for its compilers.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status != 0:
        if output is not None:
            # With -json go reports errors there too.
            with job.log.open("a", encoding="utf-8") as errors:
                errors.write(output.read_text(encoding="utf-8", errors="replace"))
        raise failures.of_build(job.program.name, job.log)


def _wait(process: subprocess.Popen[bytes], job: _Job) -> int:
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=0.2)
        if job.stop is not None and job.stop.is_set():
            raise StoppedError(
                f"The build of {job.program.name} was stopped.",
                remedy="Run the command again: what Go had compiled so far is kept.",
            )


def _publish(job: _Job) -> None:
    """Move the finished binaries to where they are looked for, in one step."""
    missing = [name for name in job.program.packages if not (job.out / name).is_file()]
    if missing:
        raise BuildError(
            f"Building {job.program.name} went through but left no {', '.join(missing)}.",
            remedy=f"See the log: {job.log}",
            evidence=failures.tail(job.log),
        )
    for name in job.program.packages:
        # On disk before it has its name: a machine that loses power must not leave an empty binary.
        with (job.out / name).open("rb") as file:
            os.fsync(file.fileno())
    place = folder(job.program)
    shutil.rmtree(place, ignore_errors=True)
    job.out.replace(place)
