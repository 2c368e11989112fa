from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from sandbox import errors, files, ports, processes


@pytest.fixture
def run(state: Path) -> Path:
    state.mkdir()
    return state


def start(run: Path, name: str, script: str) -> processes.Record:
    return processes.start(
        run, name, ["/bin/sh", "-c", script], environment={"PATH": os.defpath}, log=run / f"{name}.log"
    )


def test_a_process_is_found_again_by_its_record_and_gone_after_stop(run: Path) -> None:
    record = start(run, "one", "exec sleep 60")
    found = processes.find(run, "one")
    assert found is not None
    assert found.pid == record.pid
    assert os.getsid(found.pid) == found.pid, "a Ctrl-C in our terminal must not reach it"
    processes.stop(run, ["one"])
    assert not psutil.pid_exists(found.pid)
    assert processes.find(run, "one") is None
    assert not processes.record_path(run, "one").exists()


def test_a_pid_that_now_belongs_to_someone_else_is_never_ended(run: Path) -> None:
    record = start(run, "one", "exit 0")
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        stolen = dataclasses.replace(record, pid=bystander.pid)
        files.write_whole(processes.record_path(run, "one"), json.dumps(dataclasses.asdict(stolen)))
        # Created at another time than the record says.
        stolen = dataclasses.replace(stolen, created=(record.created or 0) - 100)
        files.write_whole(processes.record_path(run, "one"), json.dumps(dataclasses.asdict(stolen)))
        assert processes.find(run, "one") is None
        processes.stop(run, ["one"])
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_process_whose_starter_died_before_recording_it_is_found_by_its_mark(run: Path) -> None:
    record = start(run, "one", "exec sleep 60")
    intent = dataclasses.replace(record, pid=None, created=None)
    files.write_whole(processes.record_path(run, "one"), json.dumps(dataclasses.asdict(intent)))
    found = processes.find(run, "one")
    assert found is not None
    assert found.pid == record.pid


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"name": 1}'])
def test_a_damaged_record_does_not_hide_its_process(run: Path, damage: str) -> None:
    record = start(run, "one", "exec sleep 60")
    processes.record_path(run, "one").write_text(damage)
    assert [each.pid for each in processes.marked(run)] == [record.pid]
    processes.stop(run, ["one"])
    assert record.pid is not None
    assert not psutil.pid_exists(record.pid)


def test_one_that_ignores_sigterm_is_killed(run: Path) -> None:
    record = start(run, "one", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
    while "ready" not in (run / "one.log").read_text():
        time.sleep(0.02)
    processes.stop(run, ["one"], grace=0.3)
    assert record.pid is not None
    assert not psutil.pid_exists(record.pid)


def test_a_child_that_ended_is_not_taken_for_alive(run: Path) -> None:
    record = start(run, "one", "echo last words; exit 7")
    deadline = time.monotonic() + 60
    while processes.find(run, "one") is not None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert processes.exit_status(record) == 7
    assert "last words" in (run / "one.log").read_text()


def test_the_log_of_the_run_before_is_kept(run: Path) -> None:
    start(run, "one", "echo first")
    time.sleep(0.3)
    start(run, "one", "echo second")
    assert "first" in (run / "one.log.1").read_text()


def test_a_program_that_cannot_be_run_is_an_error_and_leaves_no_record(run: Path) -> None:
    with pytest.raises(errors.SandboxError, match=r"cannot be started: /no/such"):
        processes.start(run, "one", ["/no/such"], environment={}, log=run / "one.log")
    assert not processes.record_path(run, "one").exists()


def test_ports_are_remembered_and_different(run: Path) -> None:
    path = run / "ports.json"
    first = ports.load(path, ["a", "b", "c"])
    assert len(set(first.values())) == 3
    assert ports.load(path, ["a", "b", "c"]) == first
    assert ports.load(path, ["a", "d"])["a"] == first["a"], "a new name does not move an old one"


@pytest.mark.parametrize("damage", ["{", "[]", '{"a": "x"}', '{"a": 99999}'])
def test_damaged_ports_are_not_believed(run: Path, damage: str) -> None:
    path = run / "ports.json"
    path.write_text(damage)
    with pytest.raises(ValueError, match=r".+"):
        ports.load(path, ["a"])


def test_a_taken_port_is_seen(run: Path) -> None:
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, 0))
        server.listen()
        port = server.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)
