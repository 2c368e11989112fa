"""The bench against the real scheduler, tiny: that every figure is there with its comparison. Times are not judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from sandbox import plane, processes
from sandbox.bench import cluster
from sandbox.bench.kind import Kind
from sandbox.bench.run import QUICK, run
from sandbox.report import Silent
from settings.servers import find_server
from topology.profiles import OPENFUYAO

KIND = Kind.of(find_server("box16"), OPENFUYAO)


@pytest.mark.real
def test_a_tiny_bench_tells_every_figure_with_its_comparison(
    state: Path, tools: Mapping[str, Path], tmp_path: Path
) -> None:
    chart = tmp_path / "chart.svg"
    done = CliRunner().invoke(
        app, ["bench", "--quick", "--servers", "2", "--forms", "plain,compiled,quarters", "--json", "--svg", str(chart)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["versions"]["kubernetes"].startswith("v1.")
    assert found["machine"]["cpus"] > 0
    ours = {(row["count"], row["state"]): row for row in found["attempts"] if row["form"] == "compiled"}
    assert {(12, "idle"), (12, "fragmented"), (12, "failing")} <= ours.keys()
    for (count, at), row in ours.items():
        assert row["ended"] == ("unschedulable" if at == "failing" else "scheduled")
        assert row["attempt_ms"]["n"] == 1
        assert row["to_plain"]["attempt"] > 0
        assert row["to_proposal"]["filter"] > 0
        if count > 1:
            assert row["to_one"]["attempt"] > 0
    assert {row["form"] for row in found["bursts"]} == {"compiled", "plain"}
    assert found["bursts"][0]["to_plain"]["filter"] > 0
    assert {(row["order"], row["count"], row["form"]) for row in found["forms"]} >= {
        (order, 4, form) for order in ("id", "partners") for form in ("plain", "compiled")
    }
    assert chart.read_text(encoding="utf-8").startswith("<svg")
    assert all(part.state == "not started" for part in plane.status(cluster.NAME)), "the bench leaves nothing running"
    assert processes.marked(state) == []


@pytest.mark.real
def test_a_bench_that_is_stopped_leaves_nothing_running(
    state: Path, tools: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster.Cluster, "declare", stop)
    with pytest.raises(KeyboardInterrupt):
        run(KIND, replace(QUICK, servers=(1,)), Silent())
    assert processes.marked(state) == []
    assert not (state / cluster.NAME).exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--servers", "0"], "--servers 0"),
        (["--repeat", "0"], "--repeat 0"),
        (["--forms", "plain,nonsense"], "--forms nonsense"),
        (["--svg", "nowhere/at/all.svg"], "--svg nowhere/at/all.svg"),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_anything_starts(words: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["bench", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
