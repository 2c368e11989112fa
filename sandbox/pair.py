"""Two control planes side by side, for a stack whose key broker lives on a cluster of its own.

The operators are stand-ins (sandbox.standin). For people they run as a process that is the workload sandbox's, so that
`down` ends it with everything else.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sandbox import failures, interrupts, layout, locks, nodes, places, plane, processes
from sandbox.api import talking_to
from sandbox.engine import Engine
from sandbox.errors import DiedEarlyError, NotReadyError
from sandbox.plane import Sandbox
from sandbox.report import Report

WORKLOAD, TRUSTED = "workload", "trusted"
"""The names of the sandboxes; their contexts are ringfence-workload and ringfence-trusted."""

WORKLOAD_NODES = ("confidential-0", "confidential-1", "confidential-2")
TRUSTED_NODES = ("trusted-0",)

OPERATORS = "operators"
"""The record and the log of the stand-ins."""

WAIT_FOR_OTHERS = 600.0
"""Seconds one command on the pair waits for another."""

WATCHING_WITHIN = 30.0
"""Seconds the stand-ins may take to start."""


@dataclass(frozen=True)
class Pair:
    """Both, up. Confidential containers run on the one, the key broker on the other."""

    workload: Sandbox
    trusted: Sandbox

    def engine(self, tools: Mapping[str, Path], project: Path, report: Report | None = None) -> Engine:
        """pulumi that knows both contexts; its state is in the workload sandbox."""
        return Engine(self.workload, tools, project, report, others=(self.trusted,))


def up(tools: Mapping[str, Path], report: Report) -> Pair:
    """Bring both up, with simulated arm64 nodes and no operator; what is healthy is left alone.

    Both at once: most of the time each waits for itself. Errors as of plane.up; an interrupt lets both finish first,
    and all that was started is on record.
    """
    with interrupts.terminable(), ThreadPoolExecutor(max_workers=2) as pool:
        pair = Pair(*pool.map(lambda name: plane.up(name, tools, report), (WORKLOAD, TRUSTED)))
    for sandbox, names in ((pair.workload, WORKLOAD_NODES), (pair.trusted, TRUSTED_NODES)):
        with talking_to(sandbox.kubeconfig) as api:
            nodes.publish_plain(api, names)
    return pair


def find() -> Pair | None:
    """Both, if both are up, without starting anything."""
    workload, trusted = plane.find(WORKLOAD), plane.find(TRUSTED)
    return None if workload is None or trusted is None else Pair(workload, trusted)


def start_operators(pair: Pair, report: Report) -> None:
    """Have the stand-ins run, unless they do: they do nothing before a stack has installed the operators."""
    place = layout.of(WORKLOAD)
    lock = locks.path_for(place.folder, OPERATORS)
    command = [sys.executable, "-m", "sandbox.standin", str(pair.workload.kubeconfig), str(pair.trusted.kubeconfig)]
    log = place.log(OPERATORS)
    with locks.hold(lock, "starting the stand-ins of the operators", report, limit=WAIT_FOR_OTHERS):
        record = processes.read(place.records, OPERATORS)
        if processes.find(place.records, OPERATORS) and record and record.fingerprint == _fingerprint(command):
            return
        processes.stop(place.records, [OPERATORS], grace=plane.STOP_WITHIN)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(place.home),
            "PYTHONPATH": str(places.CHECKOUT),
        }
        processes.start(
            place.records, OPERATORS, command, environment=environment, log=log, fingerprint=_fingerprint(command)
        )
        _await_watching(place.records, log)


def down(report: Report) -> None:
    """End both and everything that belongs to them."""
    plane.down(WORKLOAD, report)
    plane.down(TRUSTED, report)


def _fingerprint(command: list[str]) -> str:
    """Another one when the command or the code of the stand-ins is another."""
    digest = hashlib.sha256("\0".join(command).encode())
    for path in sorted((places.CHECKOUT / "sandbox" / "standin").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _await_watching(records: Path, log: Path) -> None:
    deadline = time.monotonic() + WATCHING_WITHIN
    while "watching" not in failures.tail(log):
        if processes.find(records, OPERATORS) is None:
            raise DiedEarlyError(
                "The stand-ins of the operators ended before they were ready.",
                remedy=f"The end of their log says why. The whole log: {log}",
                evidence=failures.tail(log),
            )
        if time.monotonic() > deadline:
            raise NotReadyError(
                f"The stand-ins of the operators were not ready after {WATCHING_WITHIN:.0f} s.",
                remedy=f"Run this again on a machine with less to do, or see their log: {log}",
                evidence=failures.tail(log),
            )
        time.sleep(0.1)
