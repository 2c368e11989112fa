"""Every program the sandbox runs: from PATH if it will do there, else built once from the pinned Go modules."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

from sandbox import build, golang, interrupts, locks, pins, places, versions
from sandbox.pins import Program
from sandbox.report import Report, spoken

WAIT_FOR_BUILDS = 3 * 3600.0
"""Seconds a second run waits for the first: a cold build of everything on a slow machine."""


def ensure(
    report: Report, *, programs: Iterable[Program] = pins.PROGRAMS, stop: threading.Event | None = None
) -> dict[str, Path]:
    """Binary name → path of every program, building what is missing, in the order in which they are first needed.

    Without a `pulumi-resource-kubernetes` in the answer, pulumi was found on PATH and downloads its own provider.
    stop: once set, a build in another thread is given up (StoppedError); Ctrl-C and SIGTERM do so in the main thread.
    Errors: see sandbox.errors (NoGoError, OldGoError, NoSpaceError, NoRegistryError, BuildError, BusyError).
    """
    wanted = tuple(programs)
    tools, missing, remarks = _look(wanted)
    if not missing:
        return tools
    for remark in remarks:
        report.say(remark)
    lock = locks.path_for(places.private(places.cache_root()), "toolchain")
    names = ", ".join(program.name for program in missing)
    with interrupts.terminable(), locks.hold(lock, f"building {names}", report, limit=WAIT_FOR_BUILDS):
        build.clear_stale()
        # Whoever we waited for may have built what we miss.
        tools, missing, _ = _look(wanted)
        if missing:
            _build_all(missing, len(wanted), report, stop)
        tools, _, _ = _look(wanted)
    return tools


def _look(wanted: tuple[Program, ...]) -> tuple[dict[str, Path], list[Program], list[str]]:
    """What there is, what must be built, and remarks for the user on programs that are there but will not do."""
    tools: dict[str, Path] = {}
    missing: list[Program] = []
    remarks: list[str] = []
    pulumi_is_theirs = False
    for program in wanted:
        found, remark = _on_path(program)
        if found is not None:
            tools |= found
            pulumi_is_theirs |= program is pins.PULUMI_CLI
            continue
        if program is pins.KUBERNETES_PROVIDER and pulumi_is_theirs:
            continue
        if remark:
            remarks.append(remark)
        built = build.finished(program)
        if built is None:
            missing.append(program)
        else:
            tools |= built
    return tools, missing, remarks


def _on_path(program: Program) -> tuple[dict[str, Path] | None, str]:
    """All binaries of a program from PATH, or None and why not (empty if there is simply none)."""
    found: dict[str, Path] = {}
    for name in program.packages:
        place = shutil.which(name)
        if place is None:
            return None, ""
        found[name] = Path(place)
    if program.accepted is None:
        return found, ""
    for name, path in found.items():
        version = versions.ask(path, program.accepted)
        if version is None or not versions.accepts(program.accepted, version):
            said = "of unknown version" if version is None else ".".join(map(str, version))
            return None, f"{name} on PATH ({path}) is {said}; {program.accepted} is needed, so the pinned one is built."
    return found, ""


def _build_all(missing: list[Program], of: int, report: Report, stop: threading.Event | None) -> None:
    go = golang.find(", ".join(program.name for program in missing))
    golang.check_space((places.cache_root(), *go.caches), sum(program.gigabytes for program in missing))
    total = sum(program.minutes for program in missing) * 60
    report.say(
        f"{len(missing)} of {of} programs must be built from Go modules, once; "
        f"together that is usually about {spoken(total)} on two cores. They are kept in {places.cache_root()}"
    )
    for number, program in enumerate(missing, 1):
        with report.task(f"Building {program.name} ({number} of {len(missing)})", program.minutes * 60):
            build.build(program, go, stop)
