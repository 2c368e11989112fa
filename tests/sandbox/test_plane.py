"""The real thing: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from kubernetes import client

from sandbox import api, errors, files, layout, parts, places, plane, ports, processes
from tests.sandbox.conftest import Heard

pytestmark = pytest.mark.real

Tools = Mapping[str, Path]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One state root for the tests of this file, so that a plane can serve more than one of them."""
    folder = tmp_path_factory.mktemp("plane") / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.STATE_VARIABLE, str(folder))
        yield folder
        processes.end(processes.marked(folder), grace=1)


@pytest.fixture(scope="module")
def home(root: Path, tools: Tools) -> Iterator[Path]:
    """A home with a kubeconfig of its own in it, in force for all tests of this file."""
    # Where the programs are cached depends on the home: it is asked for before.
    cache, home = places.cache_root(), root.parent / "home"
    (home / ".kube").mkdir(parents=True)
    files.write_whole(home / ".kube" / "config", "theirs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.CACHE_VARIABLE, str(cache))
        patch.setenv("HOME", str(home))
        patch.setenv("KUBECONFIG", str(home / ".kube" / "config"))
        yield home


@pytest.fixture
def sandbox(root: Path, home: Path, tools: Tools, heard: Heard) -> plane.Sandbox:
    """A plane that is up, whatever the test before did to it."""
    sandbox = plane.up("one", tools, heard)
    heard.lines.clear()
    return sandbox


def states(name: str) -> dict[str, str]:
    return {part.name: part.state for part in plane.status(name)}


def pids(name: str) -> dict[str, int | None]:
    return {part.name: part.pid for part in plane.status(name)}


ALL_READY = {part.name: "ready" for part in parts.PARTS}


def test_before_up_status_says_that_nothing_was_started(root: Path) -> None:
    assert set(states("never").values()) == {"not started"}
    assert not root.exists() or not (root / "never").exists(), "asking leaves nothing behind"


def test_up_gives_a_cluster_that_serves_dra(sandbox: plane.Sandbox) -> None:
    assert states("one") == ALL_READY
    assert sandbox.versions["kubernetes"].startswith("v1.37.")
    assert sandbox.context == "ringfence-one"
    with api.client_for(sandbox.kubeconfig) as connection:
        assert client.ResourceV1Api(connection).list_device_class().items == []


def test_a_second_up_leaves_what_is_healthy_alone(sandbox: plane.Sandbox, tools: Tools, heard: Heard) -> None:
    before = pids("one")
    assert plane.up("one", tools, heard) == sandbox
    assert pids("one") == before
    assert heard.lines == []


def test_everything_listens_on_loopback_only(sandbox: plane.Sandbox) -> None:
    for pid in pids("one").values():
        listening = [each for each in psutil.Process(pid).net_connections() if each.status == psutil.CONN_LISTEN]
        assert listening
        assert {each.laddr.ip for each in listening} == {ports.LOOPBACK}


def test_a_stranger_is_not_let_in(sandbox: plane.Sandbox) -> None:
    settings = client.Configuration(host=sandbox.server)
    settings.ssl_ca_cert = str(layout.of("one").certificates / "ca.crt")
    with client.ApiClient(settings) as stranger, pytest.raises(client.ApiException) as raised:
        client.CoreV1Api(stranger).list_namespace()
    assert raised.value.status == 403


@pytest.mark.parametrize("part", [part.name for part in parts.PARTS])
def test_up_recovers_from_the_kill_of_any_process(
    sandbox: plane.Sandbox, tools: Tools, heard: Heard, part: str
) -> None:
    with api.client_for(sandbox.kubeconfig) as connection:
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=f"before-{part}"))
        client.CoreV1Api(connection).create_namespaced_config_map("default", body)
    before = pids("one")
    victim = psutil.Process(before[part])
    victim.kill()
    victim.wait(10)
    assert states("one")[part] == "dead"
    again = plane.up("one", tools, heard)
    assert states("one") == ALL_READY
    assert again.server == sandbox.server, "ports are kept, so kubeconfigs stay good"
    assert f"{part} is dead" in heard.text
    untouched = {name: pid for name, pid in pids("one").items() if name != part}
    assert untouched == {name: pid for name, pid in before.items() if name != part}
    with api.client_for(again.kubeconfig) as connection:
        client.CoreV1Api(connection).read_namespaced_config_map(f"before-{part}", "default")


def test_a_process_that_hangs_is_seen_and_replaced(
    sandbox: plane.Sandbox, tools: Tools, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plane, "REVIVE_WITHIN", 1.0)
    hung = pids("one")["kube-scheduler"]
    assert hung is not None
    os.kill(hung, signal.SIGSTOP)
    assert states("one")["kube-scheduler"] == "not answering"
    plane.up("one", tools, heard)
    assert states("one") == ALL_READY
    assert "does not answer" in heard.text
    assert not psutil.pid_exists(hung)


def test_a_port_that_was_taken_meanwhile_is_left_to_its_new_owner(
    sandbox: plane.Sandbox, tools: Tools, heard: Heard
) -> None:
    place = layout.of("one")
    processes.stop(place.records, ["kube-apiserver"], grace=1)
    taken = ports.load(place.ports, parts.PORT_NAMES)["kube-apiserver"]
    with socket.socket() as owner:
        owner.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        owner.bind((ports.LOOPBACK, taken))
        owner.listen()
        again = plane.up("one", tools, heard)
    assert again.server != sandbox.server
    assert f"Port {taken} of kube-apiserver" in heard.text
    assert states("one") == ALL_READY, "those who depend on it have followed"
    with api.client_for(again.kubeconfig) as connection:
        client.CoreV1Api(connection).list_namespace()


def test_a_damaged_state_is_said_and_mended(sandbox: plane.Sandbox, tools: Tools, heard: Heard) -> None:
    place = layout.of("one")
    place.ports.write_text("{")
    processes.record_path(place.records, "kwok").write_text("")
    (place.certificates / "scheduler.key").unlink()
    plane.up("one", tools, heard)
    assert states("one") == ALL_READY
    assert "cannot be read" in heard.text
    assert "making new ones" in heard.text
    assert len(processes.marked(place.records)) == len(parts.PARTS), "no second kwok beside the one without a record"


def test_a_part_that_dies_early_is_an_error_with_the_end_of_its_log(
    root: Path, tools: Tools, heard: Heard, tmp_path: Path
) -> None:
    broken = tmp_path / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho first words\necho last words >&2\nexit 7\n")
    broken.chmod(0o755)
    with pytest.raises(errors.DiedEarlyError, match=r"kube-apiserver ended .*\(status 7\)") as raised:
        plane.up("two", {**tools, "kube-apiserver": broken}, heard)
    assert "last words" in str(raised.value)
    assert states("two")["etcd"] == "ready"
    assert states("two")["kube-apiserver"] == "dead"
    assert states("two")["kwok"] == "not started"
    plane.down("two", heard)
    assert processes.marked(root / "two") == []


UP = """
import sys
from pathlib import Path
from sandbox import plane, toolchain
from sandbox.errors import SandboxError
from sandbox.report import ConsoleReport
report = ConsoleReport()
plane.up("two", toolchain.ensure(report), report)
"""


def run_up() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", UP], cwd=places.CHECKOUT, text=True, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("number", "delay"), [(signal.SIGINT, 0.0), (signal.SIGKILL, 0.0), (signal.SIGKILL, 1.0)])
def test_up_and_down_take_over_from_an_up_that_was_cut_off(
    root: Path, tools: Tools, heard: Heard, number: signal.Signals, delay: float
) -> None:
    run = run_up()
    deadline = time.monotonic() + 60
    while not list((root / "two" / "run").glob("*.json")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(delay)
    run.send_signal(number)
    run.communicate(timeout=60)
    if delay == 0:
        plane.down("two", heard)
        assert processes.marked(root / "two") == []
    else:
        plane.up("two", tools, heard)
        assert states("two") == ALL_READY
        assert len(processes.marked(root / "two" / "run")) == len(parts.PARTS), "none was started twice"
        plane.down("two", heard)


def test_two_live_side_by_side_and_down_ends_exactly_its_own(
    sandbox: plane.Sandbox, root: Path, tools: Tools, heard: Heard
) -> None:
    before = pids("one")
    waiting = run_up()
    other = plane.up("two", tools, heard)
    said = waiting.communicate(timeout=60)[1]
    assert waiting.returncode == 0, f"of two at the same time one waits for the other: {said}"
    assert "Waiting for process" in said + heard.text
    assert other.server != sandbox.server
    assert states("two") == ALL_READY
    theirs = [process.pid for process in processes.marked(root / "two")]
    plane.down("two", heard)
    assert not any(psutil.pid_exists(pid) for pid in theirs)
    assert not (root / "two").exists()
    assert pids("one") == before
    assert states("one") == ALL_READY


def test_down_leaves_nothing_and_may_be_repeated(sandbox: plane.Sandbox, root: Path, heard: Heard) -> None:
    known = pids("one")
    # Someone tidied up by hand what a record was in.
    processes.record_path(layout.of("one").records, "kwok").unlink()
    plane.down("one", heard)
    assert not any(psutil.pid_exists(pid) for pid in known.values() if pid)
    assert not root.exists(), "not even an empty folder"
    plane.down("one", heard)


def test_the_users_own_kubeconfig_was_never_touched(home: Path) -> None:
    assert (home / ".kube" / "config").read_text() == "theirs"
    assert [path.name for path in home.iterdir()] == [".kube"]
