"""`ringfence claims allocate`: 0 and the devices, 1 and why not, 2 for what cannot be told or was asked wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from cli.main import app
from tests.topology.worlds import busy, device, everything, npus, one, slice_of, wrap

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def run(tmp_path: Path, *things: dict[str, Any], words: tuple[str, ...] = ()) -> Result:
    file = tmp_path / "world.yaml"
    file.write_text(yaml.safe_dump_all([NODE, wrap("DeviceClass", "any", {}), *things]))
    return CliRunner().invoke(app, ["claims", "allocate", str(file), "--node", "n", "--json", *words])


def claim(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    return wrap("ResourceClaim", name, {"devices": {"requests": list(requests)}})


def test_pending_claims_are_given_devices_in_order_beside_those_that_are_taken(tmp_path: Path) -> None:
    things = [slice_of(npus(4)), busy("npu-0"), claim("b", one()), claim("a", one(count=2))]
    done = run(tmp_path, *things)
    assert done.exit_code == 0
    given = json.loads(done.stdout)
    assert [one["claim"] for one in given["allocations"]] == ["default/b", "default/a"], "in the order of the files"
    assert given["allocations"][0]["devices"] == [
        {"request": "r", "driver": "npu.example", "pool": "n", "device": "npu-1"}
    ]
    assert [one["device"] for one in given["allocations"][1]["devices"]] == ["npu-2", "npu-3"]
    assert given["calls"] == 8
    named = json.loads(run(tmp_path, *things, words=("--claim", "default/a")).stdout)
    assert [one["claim"] for one in named["allocations"]] == ["default/a"]


def test_json_and_lists_are_read(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    items = [NODE, wrap("DeviceClass", "any", {}), slice_of(npus(1)), claim("a", one())]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}, indent="\t"))
    done = CliRunner().invoke(app, ["claims", "allocate", str(file), "--node", "n"])
    assert done.exit_code == 0
    assert "npu-0" in done.stdout


def test_what_does_not_fit_ends_with_1_and_says_whether_elsewhere_it_could(tmp_path: Path) -> None:
    done = run(tmp_path, slice_of(npus(7)), claim("a", one(count=8)))
    assert (done.exit_code, json.loads(done.stdout)["calls"]) == (1, 128)
    assert "unsatisfiable" in json.loads(done.stdout)
    done = run(tmp_path, slice_of(npus(33)), claim("a", everything()))
    assert done.exit_code == 1
    assert list(json.loads(done.stdout)) == ["error"], "the scheduler fails the pod on every node"


def test_what_is_not_modelled_ends_with_2_and_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, slice_of([device("x", colour="red")]), claim("a", one()))
    assert done.exit_code == 2
    assert "colour" in json.loads(done.stdout)["unmodelled"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: [", "line 1"),
        ("kind: " + "[" * 5000, "nested deeper"),
        ("[" * 100_000, "nested deeper"),
        ("kind: \x07", "U+0007"),
        ("just words", "not an object"),
        ("kind: Node\nmetadata: {}", "name is missing"),
        ("kind: DeviceClass\napiVersion: resource.k8s.io/v1beta1\nmetadata: {name: c}", "v1beta1"),
    ],
)
def test_a_bad_file_ends_with_2_and_one_clear_error(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    done = CliRunner().invoke(app, ["claims", "allocate", str(file), "--node", "n", "--json"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--node", "m"), "no such Node"),
        (("--claim", "default/none"), "no such ResourceClaim"),
        (("--claim", "default/busy"), "allocated already"),
        (("--kubernetes", "1.33"), "1.34"),
    ],
)
def test_a_question_asked_wrongly_ends_with_2(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = run(tmp_path, slice_of(npus(2)), busy("npu-0"), claim("a", one()), words=words)
    assert done.exit_code == 2
    assert says in done.stderr


def test_standard_input_and_powershell_files_are_read(tmp_path: Path) -> None:
    things = [NODE, wrap("DeviceClass", "any", {}), slice_of(npus(1)), claim("a", one())]
    text = yaml.safe_dump_all(things)
    piped = CliRunner().invoke(app, ["claims", "allocate", "-", "--node", "n"], input=text)
    assert (piped.exit_code, "npu-0" in piped.stdout) == (0, True)
    (tmp_path / "f.yaml").write_text(text, encoding="utf-16")
    assert CliRunner().invoke(app, ["claims", "allocate", str(tmp_path / "f.yaml"), "--node", "n"]).exit_code == 0
