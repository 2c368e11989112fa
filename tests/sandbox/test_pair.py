"""Two control planes side by side, one stack for both."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from kubernetes import client

from sandbox import api, layout, pair, parts, places, plane, processes
from sandbox.engine import Engine
from sandbox.report import Silent
from sandbox.standin.both import StandIn
from tests.sandbox.conftest import Heard

pytestmark = pytest.mark.real

PROGRAM = """
import pulumi
import pulumi_kubernetes as kubernetes

for name in ("workload", "trusted"):
    provider = kubernetes.Provider(
        name, context=f"ringfence-{name}", cluster_identifier=name, enable_server_side_apply=True
    )
    options = pulumi.ResourceOptions(provider=provider)
    kubernetes.core.v1.ConfigMap(name, metadata={"name": "mine"}, data={"cluster": name}, opts=options)
"""

Tools = Mapping[str, Path]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("pair") / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.STATE_VARIABLE, str(folder))
        yield folder
        processes.end(processes.marked(folder), grace=1)


@pytest.fixture
def both(root: Path, tools: Tools, heard: Heard) -> pair.Pair:
    """The pair, up, whatever the test before did to it."""
    found = pair.up(tools, heard)
    heard.lines.clear()
    return found


@pytest.fixture
def engine(both: pair.Pair, tools: Tools, tmp_path: Path) -> Iterator[Engine]:
    venv = os.path.relpath(places.CHECKOUT / ".venv", tmp_path)
    runtime = f"runtime:\n  name: python\n  options:\n    virtualenv: {venv}\n"
    (tmp_path / "Pulumi.yaml").write_text(f"name: two\n{runtime}")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  pulumi:disable-default-providers: [kubernetes]\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    engine = both.engine(tools, tmp_path)
    yield engine
    engine.destroy()


def config_map(sandbox: plane.Sandbox) -> dict[str, str] | None:
    with api.client_for(sandbox.kubeconfig) as connection:
        found = client.CoreV1Api(connection).list_namespaced_config_map("default", field_selector="metadata.name=mine")
    return found.items[0].data if found.items else None


def pids(name: str) -> dict[str, int | None]:
    return {part.name: part.pid for part in plane.status(name)}


def test_both_come_up_with_nodes_and_a_second_time_changes_nothing(both: pair.Pair, tools: Tools, heard: Heard) -> None:
    before = pids(pair.WORKLOAD), pids(pair.TRUSTED)
    for sandbox, names in ((both.workload, pair.WORKLOAD_NODES), (both.trusted, pair.TRUSTED_NODES)):
        assert ready_nodes(sandbox) == set(names)
    assert pair.up(tools, heard) == both
    assert (pids(pair.WORKLOAD), pids(pair.TRUSTED)) == before
    assert heard.lines == []
    assert pair.find() == both


def ready_nodes(sandbox: plane.Sandbox) -> set[str]:
    """The arm64 nodes that become ready within seconds."""
    deadline = time.monotonic() + 60
    while True:
        with api.client_for(sandbox.kubeconfig) as connection:
            core: Any = client.CoreV1Api(connection)
            listed = core.list_node(label_selector="kubernetes.io/arch=arm64").items
        states = {
            node.metadata.name: any(
                each.type == "Ready" and each.status == "True" for each in node.status.conditions or []
            )
            for node in listed
        }
        if (states and all(states.values())) or time.monotonic() > deadline:
            return {name for name, ready in states.items() if ready}
        time.sleep(0.1)


def test_one_stack_puts_something_into_each_and_takes_it_out_again(both: pair.Pair, engine: Engine) -> None:
    engine.up()
    assert config_map(both.workload) == {"cluster": "workload"}
    assert config_map(both.trusted) == {"cluster": "trusted"}
    engine.preview("dev", "--expect-no-changes")
    engine.refresh("dev", "--expect-no-changes")
    engine.destroy()
    assert config_map(both.workload) is config_map(both.trusted) is None


def test_the_end_of_one_api_server_does_not_disturb_the_other(both: pair.Pair, tools: Tools, heard: Heard) -> None:
    before = pids(pair.TRUSTED)
    with StandIn(both.workload.kubeconfig, both.trusted.kubeconfig) as standin:
        victim = psutil.Process(pids(pair.WORKLOAD)["kube-apiserver"])
        victim.kill()
        victim.wait(10)
        assert pair.find() is None
        assert plane.find(pair.TRUSTED) == both.trusted
        assert pids(pair.TRUSTED) == before
        with api.client_for(both.trusted.kubeconfig) as connection:
            client.CoreV1Api(connection).list_namespace()
        deadline = time.monotonic() + 60
        while not any("does not answer" in line for line in standin.cc_log.lines):
            assert time.monotonic() < deadline, standin.cc_log.lines
            time.sleep(0.1)
        assert not any("does not answer" in line for line in standin.kbs_log.lines)
        assert pair.up(tools, heard) == both
        # A pass may be under way that began before that.
        standin.behave()
        standin.cc_log.lines.clear()
        # There is no CRD: it is told so by an API server that is back.
        started = time.monotonic()
        standin.behave()
        assert standin.cc_log.lines == []
    assert time.monotonic() - started < 30, "and it stops, though it is asked in the middle of a pass"


def test_the_stand_ins_run_as_a_process_that_down_ends_too(both: pair.Pair, root: Path, heard: Heard) -> None:
    pair.start_operators(both, heard)
    records = layout.of(pair.WORKLOAD).records
    running = processes.find(records, pair.OPERATORS)
    assert running is not None
    pair.start_operators(both, heard)
    assert processes.find(records, pair.OPERATORS) == running, "what runs is left alone"
    running.kill()
    running.wait(10)
    pair.start_operators(both, heard)
    assert len(processes.marked(root / pair.WORKLOAD)) == len(parts.PARTS) + 1
    pair.down(Silent())
    assert processes.marked(root) == []
    assert not root.exists(), "not even an empty folder"
    pair.down(Silent())
