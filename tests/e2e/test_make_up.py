"""`make up` ends in a clear state whatever happens to it, and the next one goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sandbox import places

pytestmark = pytest.mark.real

COMMAND = [str(Path(sys.executable).parent / "ringfence"), "sandbox"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, tools: object) -> Iterator[dict[str, str]]:
    """A state of this file's own; whatever happened, `down` has the last word and must leave nothing."""
    state = tmp_path_factory.mktemp("up") / "state"
    environment = {**os.environ, places.STATE_VARIABLE: str(state), "COLUMNS": "200"}
    yield environment
    done = sandbox(environment, "down", "--all")
    assert done.returncode == 0, done.stderr
    assert not state.exists(), "no state left"
    assert not [p for p in psutil.process_iter() if str(state) in " ".join(_command(p))], "no process left"


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def sandbox(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], env=environment, capture_output=True, text=True, check=False, timeout=280)


def start(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_two_at_a_time_take_turns_and_both_end_well(environment: dict[str, str]) -> None:
    runs = [start(environment, "up"), start(environment, "up")]
    said = [run.communicate(timeout=280) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert any("aiting" in errors for _, errors in said), "the one that waits says so"
    assert all("promises kept" in out for out, _ in said)


def test_a_second_run_is_a_matter_of_seconds_and_prints_the_same(environment: dict[str, str]) -> None:
    first, second = (sandbox(environment, "up") for _ in range(2))
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout, "the same servers give the same NPUs"


def test_try_gives_the_table_as_data(environment: dict[str, str]) -> None:
    done = sandbox(environment, "try", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {"server", "template", "namespace", "count", "pod", "node", "devices", "promise", "kept"} <= rows[0].keys()
    assert {row["server"] for row in rows} >= {"box16", "800i-a2", "310p3", "800t-a3"}
    assert all(row["kept"] and len(row["devices"]) == row["count"] for row in rows)


def test_two_trials_at_a_time_do_not_take_each_others_npus(environment: dict[str, str]) -> None:
    runs = [start(environment, "try", "--json"), start(environment, "try", "--json")]
    said = [run.communicate(timeout=280) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert said[0][0] == said[1][0], "each had the servers to itself"


@pytest.mark.parametrize("part", ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"])
def test_a_killed_process_is_told_by_status_and_brought_back_by_up(environment: dict[str, str], part: str) -> None:
    row = next(row for row in json.loads(sandbox(environment, "status", "--json").stdout) if row["name"] == part)
    os.kill(row["pid"], signal.SIGKILL)
    time.sleep(0.3)
    told = sandbox(environment, "status", "--json")
    assert told.returncode == 1
    assert next(row["state"] for row in json.loads(told.stdout) if row["name"] == part) == "dead"
    done = sandbox(environment, "up")
    assert done.returncode == 0, done.stderr
    assert sandbox(environment, "status").returncode == 0


@pytest.mark.parametrize("seconds", [0.4, 1.5, 3, 5, 8])
def test_an_interrupt_at_any_moment_is_clear_and_the_next_up_recovers(
    environment: dict[str, str], seconds: float
) -> None:
    assert sandbox(environment, "down").returncode == 0
    run = start(environment, "up")
    time.sleep(seconds)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=120)
    assert run.returncode in (0, 130), errors
    assert "Traceback" not in errors
    done = sandbox(environment, "up")
    assert done.returncode == 0, done.stderr
    assert "promises kept" in done.stdout


def test_down_during_up_ends_both_clearly(environment: dict[str, str]) -> None:
    assert sandbox(environment, "down").returncode == 0
    run = start(environment, "up")
    time.sleep(4)
    down = sandbox(environment, "down")
    _, errors = run.communicate(timeout=120)
    assert down.returncode == 0, down.stderr
    assert "Traceback" not in errors
    assert run.returncode in (0, 1), errors
    assert sandbox(environment, "up").returncode == 0
