"""`ringfence simulate` prints the same figures for a person and for a script, and one clear line where it cannot."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from cli.main import app

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
        (["box16", "--mix", "9:1"], 1, "Write a mix of 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16"),
    ],
)
def test_what_cannot_be_simulated_ends_with_one_line_and_its_remedy(words: list[str], status: int, says: str) -> None:
    done = run(*words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
