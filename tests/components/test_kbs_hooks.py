"""Around the KbsConfig: what is waited for before one is made, and what is said of one that does not go."""

from __future__ import annotations

from typing import Any

import pytest

from components.kbs_hooks import held, left_over

SPACE = "trustee-operator-system"
GIVE_UP = f'kubectl -n {SPACE} patch kbsconfig kbsconfig --type merge -p \'{{"metadata":{{"finalizers":null}}}}\''


def service(*owners: str) -> dict[str, Any]:
    return {"metadata": {"name": "kbs-service", "ownerReferences": [{"kind": kind} for kind in owners]}}


def config(deleted: bool = True) -> dict[str, Any]:
    gone = {"deletionTimestamp": "2026-11-30T00:00:00Z"} if deleted else {}
    return {"metadata": {"namespace": SPACE, "name": "kbsconfig", **gone}}


def test_the_service_of_a_kbs_config_before_is_waited_for() -> None:
    """The operator would take it for its own, and it is then collected under the feet of the new one."""
    (found,) = left_over(service("KbsConfig"), SPACE)
    assert str(found) == (
        f"the Service {SPACE}/kbs-service of the one before it is still there. "
        f"Let it be collected, or delete it: kubectl -n {SPACE} delete service kbs-service."
    )


@pytest.mark.parametrize("there", [None, {"metadata": {}}, service(), service("Other")])
def test_no_other_service_is_in_the_way(there: dict[str, Any] | None) -> None:
    assert left_over(there, SPACE) == ()


@pytest.mark.parametrize(
    ("there", "deployment", "words"),
    [
        (None, None, ["it is gone meanwhile."]),
        (config(deleted=False), {}, ["nobody has been able to delete it."]),
        (config(), None, ["without that never takes its finalizer off", "Nothing of the KBS is left", GIVE_UP]),
        (config(), {}, ["has not taken its finalizer off", f"kubectl -n {SPACE} get deploy", GIVE_UP]),
    ],
)
def test_why_a_kbs_config_is_still_there_is_said_with_the_way_out(
    there: dict[str, Any] | None, deployment: dict[str, Any] | None, words: list[str]
) -> None:
    said = str(held(there, deployment))
    for word in words:
        assert word in said
