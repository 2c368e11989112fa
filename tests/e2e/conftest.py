"""One sandbox for all tests of this folder, brought up as `make up` does, under a name and a state of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kubernetes.client import ApiClient

from sandbox import places, plane, show, toolchain
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.report import ConsoleReport
from settings.ring_plan import RingPlan, plan_of_stack

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


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """Session-wide, because the engine takes seconds; every test leaves it as it found it."""
    before = os.environ.get(places.STATE_VARIABLE)
    os.environ[places.STATE_VARIABLE] = str(tmp_path_factory.mktemp("state"))
    try:
        plan = plan_of_stack(places.CHECKOUT, "dev")
        try:
            yield Deployed(show.up("dev", "dev", plan, places.CHECKOUT, REPORT), plan)
        finally:
            plane.down("dev", REPORT)
    finally:
        if before is None:
            del os.environ[places.STATE_VARIABLE]
        else:
            os.environ[places.STATE_VARIABLE] = before
