"""The real pulumi, through the stand-in language host where the real one is missing, against a real API server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from kubernetes import client

from sandbox import api, errors, places, plane, processes
from sandbox.engine import Engine
from sandbox.report import Silent
from tests.sandbox.conftest import Heard
from tests.sandboxes import sandbox_in

pytestmark = pytest.mark.real

PROGRAM = """
import os
import pulumi
import pulumi_kubernetes as kubernetes

color = pulumi.Config().require("color")
print("from the program")
first = kubernetes.core.v1.ConfigMap("first", metadata={"name": "first"}, data={"color": color})
if color == "slow":
    # Waits for endpoints that never come: an operation that can be cut off.
    spec = {"selector": {"a": "b"}, "ports": [{"port": 80}]}
    kubernetes.core.v1.Service("slow", metadata={"name": "slow"}, spec=spec)
if color == "wrong":
    raise ValueError("this colour is wrong")
pulumi.export("name", first.metadata["name"])
pulumi.export("secret", pulumi.Output.secret(color))
"""

PACK = """
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

def check(args, report):
    if args.props.get("data", {}).get("color") == "red":
        report("nothing may be red")

PolicyPack("colours", enforcement_level=EnforcementLevel.MANDATORY,
           policies=[ResourceValidationPolicy("no-red", "Red is taken.", check)])
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    folder = tmp_path_factory.mktemp("engine") / "state"
    with sandbox_in(folder, "engine", tools, Silent()) as up:
        yield up
    assert processes.marked(folder) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    pack = folder / "pack"
    pack.mkdir(parents=True)
    options = "runtime:\n  name: python\n  options:\n    virtualenv: "
    venv = places.CHECKOUT / ".venv"
    (folder / "Pulumi.yaml").write_text(f"name: tiny\n{options}{os.path.relpath(venv, folder)}\n")
    (pack / "PulumiPolicy.yaml").write_text(f"{options}{os.path.relpath(venv, pack)}\n")
    (folder / "__main__.py").write_text(PROGRAM)
    (pack / "__main__.py").write_text(PACK)
    paint(folder, "blue")
    return folder


@pytest.fixture
def engine(sandbox: plane.Sandbox, tools: Mapping[str, Path], project: Path, heard: Heard) -> Iterator[Engine]:
    engine = Engine(sandbox, tools, project, heard)
    yield engine
    paint(project, "blue")
    engine.destroy()


def paint(project: Path, color: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(f"# a comment\nconfig:\n    tiny:color:   {color}\n")


def test_a_program_goes_up_and_changes_nothing_the_second_time(engine: Engine, project: Path) -> None:
    before = {path: path.read_text() for path in project.rglob("*.yaml")}
    assert "from the program" in engine.up().stdout
    engine.preview("dev", "--expect-no-changes")
    engine.refresh("dev", "--expect-no-changes")
    engine.preview("dev", "--expect-no-changes")
    assert engine.outputs() == {"name": "first", "secret": "blue"}
    with api.client_for(engine.sandbox.kubeconfig) as connection:
        assert client.CoreV1Api(connection).read_namespaced_config_map("first", "default").data == {"color": "blue"}
    assert {path: path.read_text() for path in project.rglob("*.yaml")} == before, "the checkout stays clean"


def test_a_policy_pack_stops_what_it_forbids(engine: Engine, project: Path) -> None:
    pack = str(project / "pack")
    engine.preview("dev", "--policy-pack", pack)
    paint(project, "red")
    with pytest.raises(errors.EngineError, match="nothing may be red"):
        engine.preview("dev", "--policy-pack", pack)


def test_a_program_that_fails_is_shown_from_its_own_first_line_on(engine: Engine, project: Path) -> None:
    paint(project, "wrong")
    with pytest.raises(errors.EngineError, match="ValueError: this colour is wrong") as raised:
        engine.preview()
    assert str(project / "__main__.py") in str(raised.value)
    assert "host/program.py" not in str(raised.value), "what is ours in the traceback helps nobody"


UP = """
import sys
from pathlib import Path
from sandbox import plane, toolchain
from sandbox.engine import Engine
from sandbox.report import Silent
sandbox = plane.find("engine")
assert sandbox is not None
Engine(sandbox, toolchain.ensure(Silent()), Path(sys.argv[1])).up()
"""


def services(engine: Engine) -> set[str]:
    with api.client_for(engine.sandbox.kubeconfig) as connection:
        found = client.CoreV1Api(connection).list_namespaced_service("default").items
    return {each.metadata.name or "" for each in found if each.metadata}


@pytest.mark.parametrize(
    ("number", "pulumi_too"), [(signal.SIGINT, False), (signal.SIGKILL, False), (signal.SIGKILL, True)]
)
def test_an_update_that_was_cut_off_is_taken_up_again(
    engine: Engine, project: Path, heard: Heard, number: signal.Signals, pulumi_too: bool
) -> None:
    paint(project, "slow")
    run = subprocess.Popen([sys.executable, "-c", UP, str(project)], cwd=places.CHECKOUT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while "slow" not in services(engine):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    run.send_signal(number)
    run.wait(60)
    if pulumi_too:
        for process in processes.marked(engine.sandbox.folder / "run" / "pulumi.json"):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    paint(project, "blue")
    engine.up()
    engine.preview("dev", "--expect-no-changes")
    assert "slow" not in services(engine), "what was half made is not forgotten in the cluster"
    assert processes.marked(engine.sandbox.folder / "run" / "pulumi.json") == []
