"""One sandbox for all tests of this folder, brought up as `make up` does, and one pair for those of two clusters.

Each has a state of its own, so that neither disturbs what the user has running, nor the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kubernetes.client import ApiClient

from sandbox import pair as pairs
from sandbox import places, plane, show, toolchain
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.report import ConsoleReport
from sandbox.standin.both import StandIn
from settings.ring_plan import RingPlan, plan_of_stack
from tests.sandboxes import state_in

REPORT = ConsoleReport()


@dataclass(frozen=True)
class Deployed:
    """The dev stack in a sandbox."""

    up: show.Up
    plan: RingPlan

    @property
    def engine(self) -> Engine:
        return Engine(self.up.sandbox, self.up.tools, places.CHECKOUT, REPORT)

    def api(self) -> ApiClient:
        return client_for(self.up.sandbox.kubeconfig)


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    return toolchain.ensure(REPORT)


@dataclass(frozen=True)
class Pair:
    """Two control planes, simulated nodes and the stand-ins for the operators; CRDs and all else are the stack's."""

    up: pairs.Pair
    tools: dict[str, Path]
    standin: StandIn

    def engine(self, project: Path = places.CHECKOUT) -> Engine:
        return self.up.engine(self.tools, project, REPORT)

    def workload(self) -> ApiClient:
        return client_for(self.up.workload.kubeconfig)

    def trusted(self) -> ApiClient:
        return client_for(self.up.trusted.kubeconfig)


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Session-wide, because the engine takes seconds; every test leaves it as it found it."""
    with state_in(tmp_path_factory.mktemp("state")):
        plan = plan_of_stack(places.CHECKOUT, "dev")
        try:
            yield Deployed(show.up("dev", "dev", plan, places.CHECKOUT, REPORT), plan)
        finally:
            plane.down("dev", REPORT)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, tools: dict[str, Path]) -> Iterator[Pair]:
    """For a module: its tests share the stack, and say `standin.behave(…)` for what goes wrong in theirs.

    A sandbox that is up knows where it is, so the state folder is named only to make and to remove it.
    """
    folder = tmp_path_factory.mktemp("pair")
    try:
        with state_in(folder):
            up = pairs.up(tools, REPORT)
        with StandIn(up.workload.kubeconfig, up.trusted.kubeconfig) as standin:
            yield Pair(up, tools, standin)
    finally:
        with state_in(folder):
            pairs.down(REPORT)
