from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from sandbox import build, errors, golang, locks, pins, places, toolchain
from tests.sandbox import fake_go
from tests.sandbox.conftest import Heard

WITHOUT_PROVIDER = (pins.ETCD, pins.CONTROL_PLANE, pins.KWOK, pins.PULUMI_CLI)


@pytest.fixture
def bare(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with the system's own commands and an empty folder in front, which is returned."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("GOFLAGS", raising=False)
    return folder


def put(folder: Path, name: str, says: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def test_missing_programs_are_built_once_in_the_order_they_are_needed(bare: Path, heard: Heard) -> None:
    calls = fake_go.install(bare)
    tools = toolchain.ensure(heard, programs=WITHOUT_PROVIDER)
    assert list(tools) == ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "pulumi"]
    assert all(path.is_file() for path in tools.values())
    assert [line for line in heard.lines if line.startswith("Building ")] == [
        "Building etcd (1 of 4)",
        "Building kubernetes (2 of 4)",
        "Building kwok (3 of 4)",
        "Building pulumi (4 of 4)",
    ]
    once = calls.read_text()
    assert once.count("-mod=readonly build -trimpath") == 4, "the pins decide what is built, and paths stay out of it"
    assert str(places.PINS) not in once, "a build never runs inside the checkout"
    assert toolchain.ensure(heard, programs=WITHOUT_PROVIDER) == tools
    assert calls.read_text() == once, "the second time nothing is built"


def test_a_warm_toolchain_needs_no_go_and_says_nothing(bare: Path, heard: Heard) -> None:
    fake_go.install(bare)
    toolchain.ensure(heard, programs=WITHOUT_PROVIDER)
    (bare / "go").unlink()
    heard.lines.clear()
    toolchain.ensure(heard, programs=WITHOUT_PROVIDER)
    assert heard.lines == []


def test_what_is_on_path_is_used(bare: Path, heard: Heard) -> None:
    put(bare, "etcd", "etcd Version: 3.6.1")
    assert toolchain.ensure(heard, programs=[pins.ETCD]) == {"etcd": bare / "etcd"}
    assert heard.lines == []


def test_what_is_on_path_and_will_not_do_is_named_and_built(bare: Path, heard: Heard) -> None:
    fake_go.install(bare)
    put(bare, "etcd", "etcd Version: 3.4.1")
    tools = toolchain.ensure(heard, programs=[pins.ETCD])
    assert tools["etcd"].parent == build.folder(pins.ETCD)
    assert "3.4.1; 3.6 or newer is needed" in heard.text


def test_who_has_pulumi_gets_the_provider_from_it(bare: Path, heard: Heard) -> None:
    put(bare, "pulumi", "v3.274.1")
    assert set(toolchain.ensure(heard, programs=[pins.PULUMI_CLI, pins.KUBERNETES_PROVIDER])) == {"pulumi"}


def test_without_go_the_user_is_told_to_install_it(bare: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bare))
    with pytest.raises(errors.NoGoError, match=r"no Go on PATH, and etcd must be built.* Install Go 1\.26"):
        toolchain.ensure(heard, programs=[pins.ETCD])


def test_an_old_go_is_named_with_its_version(bare: Path, heard: Heard) -> None:
    fake_go.install(bare, version="go1.25.9")
    with pytest.raises(errors.OldGoError, match=r"is go1\.25\.9.* Install Go 1\.26"):
        toolchain.ensure(heard, programs=[pins.ETCD])


def test_a_full_disk_is_named_before_anything_is_built(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.NoSpaceError, match=r"needs about 1000000\.0 GB, and .*not/there"):
        golang.check_space((tmp_path / "not" / "there",), 1e6)


@pytest.mark.parametrize(
    ("said", "error", "remedy"),
    [
        ("write /x/y.a: no space left on device", errors.NoSpaceError, "GOCACHE"),
        (
            'm@v1: Get "https://proxy.example/m": dial tcp: lookup proxy.example on 1.1.1.1:53: no such host',
            errors.NoRegistryError,
            "GOPROXY",
        ),
        ("m@v1: Get https://x: proxyconnect tcp: connection refused", errors.NoRegistryError, "GOPROXY"),
        ("m@v1: reading https://x/m: 404 Not Found", errors.NoRegistryError, "GOPROXY"),
        ("module lookup disabled by GOPROXY=off", errors.NoRegistryError, "GOPROXY"),
        ("go: go.mod requires go >= 1.27 (running go 1.26.1; GOTOOLCHAIN=local)", errors.OldGoError, "Install"),
        ("compile: signal: killed", errors.BuildError, "memory|GOFLAGS"),
        ("x.go:1: undefined: y", errors.BuildError, "says why"),
    ],
)
def test_a_failed_build_says_why_with_the_end_of_its_log(
    bare: Path, heard: Heard, said: str, error: type[errors.SandboxError], remedy: str
) -> None:
    fake_go.install(bare, build=f"echo '{said}' >&2; exit 1")
    with pytest.raises(error, match=remedy) as raised:
        toolchain.ensure(heard, programs=[pins.ETCD])
    assert said in str(raised.value)
    log = build.log_of(pins.ETCD)
    assert str(log) in str(raised.value), "the whole log is named"
    assert said in log.read_text(), "and kept"
    assert build.finished(pins.ETCD) is None


PROVIDER_BUILD = """
if [ "$1" = mod ]; then
  mkdir -p "$(dirname $0)/module/cmd/pulumi-resource-kubernetes"
  echo '{"name": "kubernetes"}' > "$(dirname $0)/module/cmd/pulumi-resource-kubernetes/schema.json"
  echo '{}' > "$(dirname $0)/module/cmd/pulumi-resource-kubernetes/terraform-mapping.json"
  echo "{\\"Dir\\": \\"$(dirname $0)/module\\"}"
  exit 0
fi
cp schema.json terraform-mapping.json main.go "$(dirname $0)"
"""


def test_the_provider_embeds_its_schema_with_its_version(bare: Path, heard: Heard) -> None:
    fake_go.install(bare, build=PROVIDER_BUILD + fake_go.BUILDS)
    toolchain.ensure(heard, programs=[pins.KUBERNETES_PROVIDER])
    assert json.loads((bare / "schema.json").read_text()) == {"name": "kubernetes", "version": pins.PROVIDER}
    assert (bare / "terraform-mapping.json").exists()


def test_a_failed_download_of_a_module_is_recognised_too(bare: Path, heard: Heard) -> None:
    # `go mod download -json` says so on its standard output.
    said = '{"Error": "dial tcp: lookup proxy.example: no such host"}'
    fake_go.install(bare, build=f"echo '{said}'; exit 1")
    with pytest.raises(errors.NoRegistryError, match="no such host"):
        toolchain.ensure(heard, programs=[pins.KUBERNETES_PROVIDER])


def test_a_build_that_leaves_no_binary_is_a_failure(bare: Path, heard: Heard) -> None:
    fake_go.install(bare, build="exit 0")
    with pytest.raises(errors.BuildError, match="left no etcd"):
        toolchain.ensure(heard, programs=[pins.ETCD])


# A shell starts what it sends to the background with SIGINT ignored, and so may whoever runs these tests.
ENSURE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from sandbox import pins, toolchain
from sandbox.report import ConsoleReport
toolchain.ensure(ConsoleReport(heartbeat=0.2), programs=[pins.ETCD])
"""

SLOW = f'{fake_go.BUILDS}\nsleep 60 & echo $! > "$(dirname $0)/child"; wait'


def run_ensure() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE], cwd=places.CHECKOUT, text=True, stderr=subprocess.PIPE, start_new_session=True
    )


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)
    return path.read_text()


def ends(pid: int) -> bool:
    """Whether it is gone within 30 s. A zombie is: some containers have nobody who collects them."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_build_leaves_nothing_that_looks_finished(bare: Path, heard: Heard, number: signal.Signals) -> None:
    fake_go.install(bare, build=SLOW)
    run = run_ensure()
    child = int(wait_for(bare / "child"))
    run.send_signal(number)
    run.communicate(timeout=60)
    assert build.finished(pins.ETCD) is None
    if number == signal.SIGKILL:
        # Nobody can clean up after that but the next run.
        psutil.Process(child).kill()
        assert list(places.cache_root().glob(".building-*")), "or this test would show nothing"
    else:
        assert ends(child), "the compilers went with go"
    fake_go.install(bare)
    assert toolchain.ensure(heard, programs=[pins.ETCD])["etcd"].is_file()
    assert list(places.cache_root().glob(".building-*")) == [], "the next run clears what the killed one left"


def test_a_second_run_waits_for_the_first_and_takes_what_it_built(bare: Path, heard: Heard) -> None:
    calls = fake_go.install(bare, build=f"sleep 1\n{fake_go.BUILDS}")
    first = run_ensure()
    wait_for(calls)
    assert toolchain.ensure(heard, programs=[pins.ETCD])["etcd"].is_file()
    said = first.communicate(timeout=60)[1]
    assert first.returncode == 0
    assert calls.read_text().count(" build ") == 1, "it was built once"
    assert f"Waiting for process {first.pid}" in heard.text
    assert "building etcd" in heard.text
    assert "going on" in heard.text
    assert "so far (usually 30 s)" in said, "without a terminal there is a sign of life now and then"


def test_waiting_has_an_end(cache: Path, heard: Heard) -> None:
    path = locks.path_for(cache, "test")
    held = threading.Event()
    done = threading.Event()

    def holder() -> None:
        with locks.hold(path, "something long", heard, limit=1):
            held.set()
            done.wait(10)

    thread = threading.Thread(target=holder)
    thread.start()
    held.wait(10)
    try:
        with pytest.raises(errors.BusyError, match="something long"), locks.hold(path, "us", heard, limit=0.3):
            pytest.fail("two held it at once")
    finally:
        done.set()
        thread.join()
    with locks.hold(path, "us", heard, limit=0.3):
        pass


def test_a_build_in_another_thread_can_be_stopped(bare: Path, heard: Heard) -> None:
    fake_go.install(bare, build=SLOW)
    stop = threading.Event()
    caught: list[BaseException] = []

    def worker() -> None:
        try:
            toolchain.ensure(heard, programs=[pins.ETCD], stop=stop)
        except errors.StoppedError as error:
            caught.append(error)

    thread = threading.Thread(target=worker)
    thread.start()
    child = int(wait_for(bare / "child"))
    stop.set()
    thread.join(10)
    assert caught
    assert ends(child)
