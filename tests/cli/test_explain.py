"""`ringfence claims explain`: 0 if it fits or is allocated, 1 if not, 2 if it cannot be told or was asked wrongly."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from cli.main import app
from tests.topology.explained import ANY, claim, held, match, node
from tests.topology.worlds import Plain, device, npus, one, slice_of

GOLDEN = Path(__file__).parent / "golden" / "explain.json"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["claims", "explain", *words])


def dumped(tmp_path: Path, *things: Plain) -> list[str]:
    """As `kubectl get -o yaml` prints them: slices and classes in one file, claims in another."""
    slices = tmp_path / "slices.yaml"
    there = [one for one in things if one["kind"] in ("ResourceSlice", "DeviceClass", "Node")]
    slices.write_text(yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": [ANY, *there]}))
    claims = tmp_path / "claims.json"
    rest = [one for one in things if one not in there]
    claims.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": rest}, indent="\t"))
    return ["--slices", str(slices), "--claims", str(claims)]


RING: list[Any] = [
    slice_of(npus(16)),
    held("a", "npu-0", "npu-3", "npu-5", pod="train-0"),
    held("b", "npu-8", "npu-9"),
    claim(one(count=8), constraints=[match("ring")]),
]


def test_a_claim_that_does_not_fit_ends_with_1_and_says_why_and_what_would_do(tmp_path: Path) -> None:
    done = run("default/c", *dumped(tmp_path, *RING))
    assert done.exit_code == 1
    assert "0 has 5 free, 3 held; 1 has 6 free, 2 held" in done.stdout
    assert "free npu-8, npu-9 (the fewest), held by claim default/b (no pod)" in done.stdout
    assert done.stdout == run("c", *dumped(tmp_path, *RING)).stdout, "a name that is there once is enough"


def test_json_is_the_same_every_time(tmp_path: Path) -> None:
    done = run("default/c", *dumped(tmp_path, *RING), "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout) == json.loads(GOLDEN.read_text())


def test_a_claim_that_fits_or_is_allocated_ends_with_0(tmp_path: Path) -> None:
    done = run("c", *dumped(tmp_path, *RING[:3], claim(one(count=6), constraints=[match("ring")])), "--json")
    assert (done.exit_code, json.loads(done.stdout)["verdict"]) == (0, "fits")
    done = run("a", *dumped(tmp_path, *RING), "--json")
    assert (done.exit_code, json.loads(done.stdout)["verdict"]) == (0, "allocated")


def test_one_node_can_be_looked_at_alone(tmp_path: Path) -> None:
    def on(name: str) -> Plain:
        return slice_of(npus(2), name=name, pool=name, nodeName=name)

    words = dumped(tmp_path, node("n"), node("m"), on("n"), on("m"), claim(one(count=3)))
    assert "Nodes m, n (2)" in run("c", *words).stdout
    assert "Node m: it does not fit" in run("c", *words, "--node", "m").stdout
    done = run("c", *words, "--node", "x")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there are m, n" in done.stderr


def test_another_kubernetes_searches_otherwise(tmp_path: Path) -> None:
    words = dumped(tmp_path, slice_of(npus(7)), claim(one(count=8)))
    assert "in 128 calls" in run("c", *words).stdout
    assert "in 13,700 calls" in run("c", *words, "--kubernetes", "1.35").stdout


def test_what_is_not_modelled_ends_with_2_and_is_named(tmp_path: Path) -> None:
    done = run("c", *dumped(tmp_path, slice_of([device("x", colour="red")]), claim(one())), "--json")
    assert done.exit_code == 2
    assert "colour" in json.loads(done.stdout)["unmodelled"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["none"], "there is no ResourceClaim none; there are default/a, default/b, default/c"),
        (["pod/none"], "there is no Pod none"),
        (["c", "--kubernetes", "1.33"], "1.34"),
        (["c", "--context", "x"], "dumps and a cluster are named"),
    ],
)
def test_a_question_asked_wrongly_ends_with_2(tmp_path: Path, words: list[str], says: str) -> None:
    done = run(*words, *dumped(tmp_path, *RING))
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: [", "line 1"),
        ("just words", "not an object"),
        ("kind: ResourceClaim\napiVersion: resource.k8s.io/v1\nmetadata: {}", "metadata.name is missing"),
        (
            "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r}]}}",
            "exactly one of exactly",
        ),
        ("kind: Pod\nmetadata: {name: c}\nspec: {resourceClaims: 3}", "there is no ResourceClaim"),
    ],
)
def test_a_bad_file_ends_with_2_and_one_clear_error(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    done = run("c", "--claims", str(file), "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cluster_that_is_not_there_ends_with_2_and_one_clear_error(tmp_path: Path) -> None:
    done = run("c", "--kubeconfig", str(tmp_path / "none"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--kubeconfig" in done.stderr
    file = tmp_path / "config"
    cluster = {"name": "k", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "k", "context": {"cluster": "k", "user": "k"}}
    file.write_text(
        yaml.safe_dump(
            {"clusters": [cluster], "contexts": [context], "users": [{"name": "k", "user": {}}], "current-context": "k"}
        )
    )
    done = run("c", "--kubeconfig", str(file))
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert run("c", "--kubeconfig", str(file), "--context", "x").exit_code == 2
    file.write_text("a: [")
    done = run("c", "--kubeconfig", str(file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_one_file_may_be_named_for_all_kinds(tmp_path: Path) -> None:
    everything = tmp_path / "all.yaml"
    everything.write_text(yaml.safe_dump_all([ANY, *RING]))
    words = [word for option in ("--slices", "--claims", "--nodes") for word in (option, str(everything))]
    assert run("c", *words, "--json").stdout == run("c", *dumped(tmp_path, *RING), "--json").stdout


def test_devices_of_all_nodes_fit_on_any_and_those_of_labelled_nodes_want_the_nodes(tmp_path: Path) -> None:
    everywhere = slice_of(npus(2))
    del everywhere["spec"]["nodeName"]
    everywhere["spec"]["allNodes"] = True
    done = run("c", *dumped(tmp_path, everywhere, claim(one(count=2))))
    assert (done.exit_code, "Node any node: it fits" in done.stdout) == (0, True)
    assert run("c", *dumped(tmp_path, everywhere, claim(one(count=3)))).exit_code == 1
    del everywhere["spec"]["allNodes"]
    everywhere["spec"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": []}]}
    done = run("c", *dumped(tmp_path, everywhere, claim(one(count=2))))
    assert (done.exit_code, "kubectl get nodes -o yaml" in done.stderr) == (2, True)


def test_a_remedy_names_only_options_that_there_are(tmp_path: Path) -> None:
    help_ = run("--help").stdout
    for name in ("pod/none", "none"):
        said = run(name, *dumped(tmp_path, *RING)).stderr
        assert set(re.findall(r"--[a-z-]+", said)) <= set(re.findall(r"--[a-z-]+", help_)), said
