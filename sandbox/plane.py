"""A throwaway control plane on loopback: up, status, down."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox import failures, files, interrupts, kubeconfig, layout, locks, parts, pki, places, ports, probes, processes
from sandbox.errors import DiedEarlyError, NotReadyError, SandboxError
from sandbox.layout import Layout
from sandbox.parts import Part
from sandbox.report import Report

READY_WITHIN = 60.0
"""Seconds a started part may take to say that it is ready; on two idle cores all five take about six."""

REVIVE_WITHIN = 10.0
"""Seconds a part that runs but does not answer is given before it is started anew."""

WAIT_FOR_OTHERS = 300.0
"""Seconds one command on a sandbox waits for another on the same one."""

PORT_ATTEMPTS = 3
"""How often a part is started in all if someone else takes its port at the last moment."""

STOP_WITHIN = 3.0
"""Seconds a part is given to end by itself. Longer is of no use: some wait for connections that others hold open, and
each of them comes back from a SIGKILL with all its data."""

State = Literal["not started", "ready", "not answering", "dead"]


@dataclass(frozen=True)
class Sandbox:
    """A control plane that is up.

    server: URL. context: the context in `kubeconfig`. versions: of kubernetes and etcd, as they say themselves.
    """

    name: str
    folder: Path
    kubeconfig: Path
    context: str
    server: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class PartStatus:
    """The truth about one process. pid and uptime (seconds) are None unless it runs, port is None if never chosen."""

    name: str
    state: State
    pid: int | None
    port: int | None
    uptime: float | None
    log: Path


def up(name: str, tools: Mapping[str, Path], report: Report) -> Sandbox:
    """Bring every part of the sandbox up and return once all are ready. What is healthy is left alone.

    tools: as sandbox.toolchain.ensure returns them.
    Errors: DiedEarlyError and NotReadyError, both with the end of the log, and BusyError.
    After an error or an interrupt everything started is on record: the next `up` or `down` takes it from there.
    """
    place = layout.of(name)
    with interrupts.terminable(), _only_one(place, "bringing it up", report):
        _prepare(place, report)
        numbers = _ports(place, report)
        for layer in parts.LAYERS:
            missing = [part for part in layer if not _is_well(part, place, numbers, tools, report)]
            processes.stop(place.records, [part.name for part in missing], grace=STOP_WITHIN)
            for part in missing:
                _start(part, place, numbers, tools, report)
            for part in missing:
                _await(part, place, numbers, tools, report)
        _write_kubeconfig(place, numbers)
        return _describe(place, numbers)


def find(name: str) -> Sandbox | None:
    """The sandbox if it is up and its API server answers, without starting anything."""
    place = layout.of(name)
    with suppress(OSError, ValueError, KeyError):
        if place.ports.exists() and place.kubeconfig.exists():
            numbers = _known_ports(place)
            if parts.ready(parts.APISERVER, place, numbers):
                return _describe(place, numbers)
    return None


def status(name: str) -> list[PartStatus]:
    """How each part is right now, by looking at the process and asking it. Changes nothing, takes no lock."""
    place = layout.of(name)
    try:
        numbers = _known_ports(place)
    except (OSError, ValueError):
        numbers = {}
    return [_status_of(part, place, numbers) for part in parts.PARTS]


def down(name: str, report: Report) -> None:
    """End every process of the sandbox and remove its folder. Nothing to do is no error."""
    place = layout.of(name)
    with interrupts.terminable(), _only_one(place, "taking it down", report):
        # All at once and without much ado: what they would save on the way out is removed anyway.
        processes.stop(place.records, [part.name for part in parts.PARTS], grace=1)
        # Whatever carries our mark and no record speaks of: a pulumi whose ringfence was killed, say, or parts whose
        # folder someone removed by hand.
        processes.end(processes.marked(place.records), grace=STOP_WITHIN)
        shutil.rmtree(place.folder, ignore_errors=True)
        if place.folder.exists():
            raise SandboxError(
                f"All processes of sandbox {name} have ended, but its folder cannot be removed.",
                remedy=f"Remove {place.folder} by hand.",
            )
        with suppress(OSError):
            place.folder.parent.rmdir()


def _only_one(place: Layout, doing: str, report: Report) -> AbstractContextManager[None]:
    words = f"sandbox {place.name}, {doing}"
    return locks.hold(locks.path_for(place.folder, "sandbox"), words, report, limit=WAIT_FOR_OTHERS)


def _prepare(place: Layout, report: Report) -> None:
    places.private(place.folder)
    for folder in (place.records, place.home, place.etcd_data, place.log("x").parent, place.kubeconfig_of("x").parent):
        places.private(folder)
    pki.ensure(place.certificates, report)


def _known_ports(place: Layout) -> dict[str, int]:
    """Those on file, without choosing any."""
    found = files.read_object(place.ports) or {}
    return {name: int(port) for name, port in found.items()}


def _ports(place: Layout, report: Report) -> dict[str, int]:
    try:
        return ports.load(place.ports, parts.PORT_NAMES)
    except (OSError, ValueError) as error:
        report.say(f"{place.ports} cannot be read ({error}): choosing new ports.")
        place.ports.unlink()
        return ports.load(place.ports, parts.PORT_NAMES)


def _is_well(part: Part, place: Layout, numbers: dict[str, int], tools: Mapping[str, Path], report: Report) -> bool:
    """Whether the part runs as it should, and answers. If not, says why it is about to be started."""
    command = _command(part, place, numbers, tools)
    running = processes.find(place.records, part.name)
    if running is not None:
        record = processes.read(place.records, part.name)
        wanted = parts.fingerprint(part, place, command)
        if record is None or record.fingerprint != wanted:
            report.say(f"{part.name} runs with other settings than it should: starting it anew.")
        elif _revives(part, place, numbers):
            return True
        else:
            report.say(f"{part.name} runs (pid {running.pid}) but does not answer: starting it anew.")
    elif processes.read(place.records, part.name) is not None:
        report.say(f"{part.name} is dead: starting it again, with the same data.")
    return False


def _revives(part: Part, place: Layout, numbers: Mapping[str, int]) -> bool:
    """Whether a running part answers, now or in a little while: an interrupted `up` may only just have started it."""
    deadline = time.monotonic() + REVIVE_WITHIN
    while not parts.ready(part, place, numbers):
        if time.monotonic() > deadline or processes.find(place.records, part.name) is None:
            return False
        time.sleep(0.2)
    return True


def _start(part: Part, place: Layout, numbers: dict[str, int], tools: Mapping[str, Path], report: Report) -> None:
    taken = [name for name in part.ports if not ports.is_free(numbers[name])]
    if taken:
        _move(part, place, numbers, report, taken)
    command = _command(part, place, numbers, tools)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(place.home),
    }
    processes.start(
        place.records,
        part.name,
        command,
        environment=environment,
        log=place.log(part.name),
        fingerprint=parts.fingerprint(part, place, command),
    )


def _move(part: Part, place: Layout, numbers: dict[str, int], report: Report, taken: list[str]) -> None:
    """Give the part other ports. Those who depend on it notice by their fingerprint and are started anew."""
    for name, port in zip(taken, ports.pick(len(taken)), strict=True):
        report.say(f"Port {numbers[name]} of {part.name} has been taken by someone else: moving to {port}.")
        numbers[name] = port
    ports.save(place.ports, numbers)


def _await(part: Part, place: Layout, numbers: dict[str, int], tools: Mapping[str, Path], report: Report) -> None:
    """Wait until the part is ready. DiedEarlyError or NotReadyError, with the end of its log, if it never is."""
    deadline = time.monotonic() + READY_WITHIN
    attempts = 1
    log = place.log(part.name)
    pause = 0.05
    while not parts.ready(part, place, numbers):
        if processes.find(place.records, part.name) is None:
            if attempts < PORT_ATTEMPTS and "address already in use" in failures.tail(log, 200):
                # Someone was faster between our look at the port and the part's.
                attempts += 1
                _move(part, place, numbers, report, list(part.ports))
                _start(part, place, numbers, tools, report)
                continue
            record = processes.read(place.records, part.name)
            code = processes.exit_status(record) if record else None
            raise DiedEarlyError(
                f"{part.name} ended before it was ready{'' if code is None else f' (status {code})'}.",
                remedy=f"The end of its log says why; if its data are damaged, take the sandbox down and up again. "
                f"The whole log: {log}",
                evidence=failures.tail(log),
            )
        if time.monotonic() > deadline:
            raise NotReadyError(
                f"{part.name} runs but was not ready after {READY_WITHIN:.0f} s.",
                remedy=f"Run this again on a machine with less to do, or see its log: {log}",
                evidence=failures.tail(log),
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.3)


def _command(part: Part, place: Layout, numbers: Mapping[str, int], tools: Mapping[str, Path]) -> list[str]:
    if part.binary not in tools:
        raise SandboxError(
            f"There is no {part.binary} among the programs for the sandbox.",
            remedy="Let sandbox.toolchain.ensure provide them.",
        )
    return [str(tools[part.binary]), *part.command(place, numbers)]


def _write_kubeconfig(place: Layout, numbers: Mapping[str, int]) -> None:
    kubeconfig.write(
        place.kubeconfig,
        server=parts.server(numbers),
        context=place.context,
        certificates=place.certificates,
        identity="admin",
    )


def _describe(place: Layout, numbers: Mapping[str, int]) -> Sandbox:
    kubernetes = probes.read_object(parts.endpoint(parts.APISERVER, place, numbers), "/version")
    etcd = probes.read_object(parts.endpoint(parts.ETCD, place, numbers), "/version")
    versions = {
        "kubernetes": str(kubernetes.get("gitVersion", "unknown")),
        "etcd": str(etcd.get("etcdserver", "unknown")),
    }
    return Sandbox(place.name, place.folder, place.kubeconfig, place.context, parts.server(numbers), versions)


def _status_of(part: Part, place: Layout, numbers: Mapping[str, int]) -> PartStatus:
    port = numbers.get(part.ports[0])
    log = place.log(part.name)
    process = processes.find(place.records, part.name)
    if process is None:
        recorded = processes.record_path(place.records, part.name).exists()
        return PartStatus(part.name, "dead" if recorded else "not started", None, port, None, log)
    answers = port is not None and parts.ready(part, place, numbers)
    state: State = "ready" if answers else "not answering"
    return PartStatus(part.name, state, process.pid, port, processes.uptime(process), log)
