"""The figures in docs/ are those that the commands write, and `--why` tells them for one server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli import bench_page
from cli.fragmentation_page import BEGIN, END, SETTINGS, figures, put, strategy_row
from cli.main import app
from cli.page import put as put_between
from cli.proofs_page import proofs_page
from settings.proofs import read_proofs
from settings.servers import shipped_names
from tests.topology.wirings import SERVERS, shipped
from topology.claims import compile_templates
from topology.profiles import OPENFUYAO
from topology.proof import key
from topology.simulate.compare import simulate
from topology.simulate.strategies import Nodes

DOCS = SERVERS.parent / "docs"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_the_page_of_proofs_is_what_the_shipped_proofs_say() -> None:
    servers = [shipped(name) for name in shipped_names()]
    proofs = {}
    for server in servers:
        kept = read_proofs(SERVERS / server.name / "proofs.json")
        for template in compile_templates(server, OPENFUYAO):
            proofs[template.name] = kept[key(server, template, OPENFUYAO)]
    page = (DOCS / "proofs.md").read_text(encoding="utf-8")
    assert proofs_page(servers, OPENFUYAO, proofs) == page, "run `make docs`"


def test_the_figures_on_fragmentation_are_those_of_the_command() -> None:
    """One row of them: all would take minutes."""
    result = simulate(shipped("box16"), SETTINGS["default mix", Nodes.PACK], ["ours"])
    row = f"| pack | {' | '.join(strategy_row(result, result.outcomes[0]))} |"
    page = (DOCS / "fragmentation.md").read_text(encoding="utf-8")
    assert row in page[page.index(BEGIN) : page.index(END)], "run `make docs`"


def test_figures_are_the_same_every_time_and_say_how_near_each_size_is() -> None:
    short = {
        (mix, nodes): replace(setting, servers=3, jobs=200, runs=1)
        for (mix, nodes), setting in SETTINGS.items()
        if (mix, nodes) == ("default mix", Nodes.PACK)
    }
    text = figures(shipped("350-4p"), {k: replace(s, mix={1: 4.0, 2: 2.0, 4: 2.0}) for k, s in short.items()})
    assert text == figures(shipped("350-4p"), {k: replace(s, mix={1: 4.0, 2: 2.0, 4: 2.0}) for k, s in short.items()})
    assert "Within 5 points of the best possible at every size:" in text
    assert "| pack | ours |" in text


def test_only_what_is_between_the_markers_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n")
    put(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\nnew\n{END}after\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["simulate", "box16", "--docs", "nowhere.md"], "--docs nowhere.md: No such file"),
        (["claims", "compile", "800t-a3", "--json"], "Use it with --why"),
        (["claims", "compile", "800t-a3", "--why", "--out", "here"], "Use one of the two"),
        (["claims", "prove", "800t-a3", "--docs", "no/such/place.md"], "Name a file that can be written"),
    ],
)
def test_a_page_or_a_question_that_makes_no_sense_ends_with_2(words: list[str], says: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert says in done.stderr


def test_why_tells_the_form_its_costs_and_those_of_the_others() -> None:
    done = run("claims", "compile", "800t-a3", "--count", "8", "--why", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["template"], row["chosen"]["form"], row["chosen"]["worst"]) == ("npu-800t-a3-8", "units", 77)
    assert row["others"]
    assert all(
        {"form", "common", "worst", "at_least", "requests", "expressions"} == other.keys() for other in row["others"]
    )
    assert done.stdout == run("claims", "compile", "800t-a3", "--count", "8", "--why", "--json").stdout
    told = run("claims", "compile", "box16", "--count", "12", "--why").stdout
    for words in ("windows-by-node", "188", "units:", "if the driver published a group of four"):
        assert words in told


def test_the_bench_writes_its_figures_between_the_markers_and_leaves_the_text(tmp_path: Path) -> None:
    spread = {"median": 1.5, "min": 1.0, "max": 1234.0}
    ratios = {"attempt": 0.004, "filter": 0.003}
    attempt = {
        "count": 12,
        "state": "must fail",
        "form": "compiled",
        "ended": "unschedulable",
        "attempt_ms": spread,
        "filter_ms": spread,
        "to_proposal": ratios,
    }
    found = {
        "versions": {"kubernetes": "v1.37.2"},
        "machine": {"cpus": 2, "load_before": 0.1, "load_after": 0.9},
        "attempts": [attempt],
        "in_short": {"to_plain": spread, "to_proposal": {"12": 0.0025, "16": 0.00071}},
        "bursts": [],
    }
    page = tmp_path / "bench.md"
    page.write_text(f"by hand\n{bench_page.BEGIN}old\n{bench_page.END}by hand too\n")
    put_between(page, bench_page.BEGIN, bench_page.END, bench_page.figures(found))
    text = page.read_text()
    assert text.startswith("by hand\n")
    assert text.endswith("by hand too\n")
    assert "old" not in text
    assert "costs 1.5 (1–1,234) × one without constraints" in text
    assert "oFEP-0062's layout costs: 12: 0.25 %, 16: 0.071 %." in text
    assert "| 12 | must fail | ours | unschedulable | 1.5 (1–1,234) | 1.5 (1–1,234) | 0.004 |  |  |" in text
