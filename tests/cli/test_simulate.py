"""`ringfence simulate` prints the same figures for a person and for a script, and one clear line where it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from sandbox.played import Decision, Played
from topology.simulate.run import Outcome, Tally
from topology.simulate.strategies import Placed

SHORT = ("--servers", "4", "--jobs", "300")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *words])


def test_the_data_says_what_was_simulated_and_what_came_of_it_the_same_every_time() -> None:
    done = run("box16", *SHORT, "--seed", "7", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["server"], found["seed"], found["order"], found["nodes"]) == ("box16", 7, "id", "random")
    assert [strategy["strategy"] for strategy in found["strategies"]][:3] == ["naive", "proposal", "ours"]
    assert found["strategies"][2]["sizes"][0]["share_kept"] == 1.0
    assert done.stdout == run("box16", *SHORT, "--seed", "7", "--json").stdout


def test_the_table_has_a_row_for_each_strategy_and_size() -> None:
    done = run("box16", *SHORT, "--mix", "1:1,8:1")
    assert done.exit_code == 0
    for words in ("fits when enough free", "could fit", "kept", "naive", "fill-first", "foresight"):
        assert words in done.stdout


def test_a_strategy_that_has_nothing_for_the_server_is_left_out_and_said_to_be() -> None:
    done = run("800t-a3", *SHORT)
    assert done.exit_code == 0, "the default mix is cut to what the server holds"
    assert "proposal left out" in done.stderr
    assert "proposal" not in done.stdout


def test_orders_are_compared_in_one_table_and_as_a_list() -> None:
    done = run("box16", *SHORT, "--order", "all")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == [
        "id",
        "quarters",
        "numa",
        "pairs",
        "interleaved",
        "opposed",
        "scattered",
    ]
    assert [entry["order"] for entry in json.loads(run("box16", *SHORT, "--order", "all", "--json").stdout)][3] == (
        "pairs"
    )


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["nowhere"], 2, "800i-a2"),
        (["box16", "--order", "by-luck"], 2, "Write one of id,"),
        (["box16", "--mix", "1:x"], 2, "'1:x' is no size"),
        (["box16", "--jobs", "0"], 2, "0 jobs"),
        (["box16", "--load", "nan"], 2, "load of nan"),
        (["box16", "--real", "--order", "pairs"], 2, "Leave --order and --runs out"),
        (["box16", "--real", "--runs", "2"], 2, "Leave --order and --runs out"),
        (["box16", "--real", "--mix", "9:1"], 1, "Write a mix of 1, 2, 3"),
        (["box16", "--mix", "9:1"], 1, "Write a mix of 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16"),
    ],
)
def test_what_cannot_be_simulated_ends_with_one_line_and_its_remedy(words: list[str], status: int, says: str) -> None:
    done = run(*words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def played(monkeypatch: pytest.MonkeyPatch, *decisions: Decision) -> None:
    """What --real finds, without a control plane: tests/sandbox/test_played.py has the real one."""

    @contextmanager
    def running(*_: object) -> Iterator[Any]:
        yield SimpleNamespace(prepare=lambda _: None, sandbox=SimpleNamespace(versions={"kubernetes": "v1.37.2"}))

    real, simulated = ({8: Tally(arrived=4, enough=4, fitted=fitted)} for fitted in (3, 4))
    found = Played(decisions, Outcome("real", real, 0.5), (Outcome("ours", real, 0.5), Outcome("ours", simulated, 0.5)))
    monkeypatch.setattr("sandbox.toolchain.ensure", lambda *_, **__: {})
    monkeypatch.setattr("sandbox.bench.cluster.running", running)
    monkeypatch.setattr("cli.simulate_real.play", lambda *_, **__: found)


RIGHT = Decision(8, (0xFFFF, 0xFF00), Placed(0, 0xFF), (Placed(0, 0xFF),), 2)
WRONG = Decision(8, (0xFF00, 0xFF00), Placed(0, 0xFF00), (Placed(1, 0xFF00),), 2)


def test_what_the_real_scheduler_did_is_printed_beside_what_was_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch, RIGHT)
    done = run("box16", "--real", "--servers", "2")
    assert done.exit_code == 0, done.output
    assert "75.0 %  75.0–100.0 %" in done.stdout
    assert "1 decisions, 0 not as the model says; nodes drawn by lot would agree in 50.0 %" in done.stdout


def test_a_decision_that_the_model_does_not_allow_is_told_with_its_state_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played(monkeypatch, RIGHT, WRONG)
    done = run("box16", "--real", "--servers", "2")
    assert done.exit_code == 1
    assert "job 1, 8 NPUs: given {'node': 0" in done.stdout
    asked = run("box16", "--real", "--servers", "2", "--json")
    (mismatch,) = json.loads(asked.stdout)["mismatches"]
    assert asked.exit_code == 1
    assert (mismatch["decision"], mismatch["real"]["node"], mismatch["allowed"][0]["node"]) == (1, 0, 1)
    assert mismatch["free"] == [list(range(8, 16))] * 2
