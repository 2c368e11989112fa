from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from sandbox.report import ConsoleReport, spoken


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (42.4, "42 s"), (59.7, "1 min"), (330, "5 min 30 s"), (540, "9 min")],
)
def test_times_are_said_as_a_person_says_them(seconds: float, words: str) -> None:
    assert spoken(seconds) == words


def test_without_a_terminal_there_are_plain_whole_lines() -> None:
    out = io.StringIO()
    report = ConsoleReport(Console(file=out, width=20), heartbeat=0.05)
    with report.task("Building [etcd] (1 of 5)", 30):
        time.sleep(0.12)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Building [etcd] (1 of 5) (usually 30 s) …", "not broken at 20 columns, brackets are text"
    assert "0.1 s so far" in lines[1]
    assert lines[-1] == "Building [etcd] (1 of 5): done in 0.1 s"


def test_on_a_terminal_the_line_moves_and_is_replaced_by_the_result() -> None:
    out = io.StringIO()
    with ConsoleReport(Console(file=out, force_terminal=True, width=100)).task("Building [etcd]", 30):
        time.sleep(0.15)
    assert "Building [etcd] (usually 30 s)" in out.getvalue()
    assert out.getvalue().rstrip().endswith("Building [etcd]: done in 0.2 s") or "done in 0.1 s" in out.getvalue()


def test_what_fails_is_not_said_to_be_done() -> None:
    out = io.StringIO()
    with pytest.raises(KeyError), ConsoleReport(Console(file=out)).task("Building etcd"):
        raise KeyError
    assert "done" not in out.getvalue()
