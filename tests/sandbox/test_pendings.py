from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox import pendings


def operation(kind: str = "creating", **metadata: object) -> pendings.State:
    resource = {"urn": "urn:x", "type": "kubernetes:core/v1:Service", "inputs": {"metadata": metadata}}
    return {"type": kind, "resource": resource}


def exported(*operations: pendings.State, resources: list[pendings.State] | None = None) -> pendings.State:
    return {"version": 3, "deployment": {"resources": resources or [], "pending_operations": list(operations)}}


def test_a_creation_that_was_cut_off_is_assumed_done_for_the_cluster_to_confirm() -> None:
    before = exported(operation(name="a", namespace="b"))
    after = pendings.assume_created(before)
    assert [(each["urn"], each["id"]) for each in after["deployment"]["resources"]] == [("urn:x", "b/a")]
    assert after["deployment"]["pending_operations"] == []
    assert before["deployment"]["pending_operations"], "what was handed in stays as it was"
    assert pendings.identity(operation(name="a")["resource"]) == "a", "an object of the whole cluster"


@pytest.mark.parametrize("unknown", [operation(), operation("deleting", name="a"), {"type": "creating"}])
def test_what_cannot_be_told_is_left_to_pulumi(unknown: pendings.State) -> None:
    assert pendings.assume_created(exported(unknown)) == exported(unknown)


def test_what_is_in_the_state_already_is_not_doubled() -> None:
    resource = {"urn": "urn:x", "id": "b/a", "outputs": {"more": "known"}}
    after = pendings.assume_created(exported(operation(name="a", namespace="b"), resources=[resource]))
    assert after == exported(resources=[resource])


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"checkpoint": null}', '{"checkpoint": {"latest": null}}'])
def test_a_stack_without_any_has_none(tmp_path: Path, text: str) -> None:
    assert pendings.count(tmp_path / "none.json") == 0
    (tmp_path / "some.json").write_text(text)
    assert pendings.count(tmp_path / "some.json") == 0


def test_they_are_found_where_pulumi_writes_them(tmp_path: Path) -> None:
    state = {"checkpoint": {"latest": {"pending_operations": [operation(name="a")]}}}
    (tmp_path / "dev.json").write_text(json.dumps(state))
    assert pendings.count(tmp_path / "dev.json") == 1
