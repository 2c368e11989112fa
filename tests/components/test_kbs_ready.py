"""When a KBS counts as available, and how the wait for it ends."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from components.kbs_ready import Expected, NotReady, Unseen, missing, until_ready

EXPECTED = Expected(frozenset({"config-1", "tenant"}), 2)
GOOD: dict[str, Any] = {
    "metadata": {"generation": 3},
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {
                "volumes": [
                    {"name": "a", "emptyDir": {}},
                    {"name": "b", "configMap": {"name": "config-1"}},
                    {"name": "c", "secret": {"secretName": "tenant"}},
                ]
            }
        },
    },
    "status": {
        "observedGeneration": 3,
        "replicas": 2,
        "updatedReplicas": 2,
        "availableReplicas": 2,
        "conditions": [{"type": "Available", "status": "True"}],
    },
}


def broken(change: Callable[[Any], object]) -> Any:
    deployment = copy.deepcopy(GOOD)
    change(deployment)
    return deployment


def test_all_there() -> None:
    assert missing(GOOD, EXPECTED) is None


@pytest.mark.parametrize(
    ("deployment", "says"),
    [
        (None, "there is no Deployment trustee-deployment"),
        (broken(lambda d: d["spec"]["template"]["spec"]["volumes"].pop()), "its pods do not mount tenant yet"),
        (broken(lambda d: d["metadata"].update(generation=4)), "its change has not been seen"),
        (broken(lambda d: d["spec"].update(replicas=1)), "it has 1 replicas instead of 2"),
        (broken(lambda d: d["status"].update(availableReplicas=1)), "1 of 2 pods are up to date and available"),
        (broken(lambda d: d["status"].update(updatedReplicas=0)), "0 of 2 pods are up to date and available"),
        (broken(lambda d: d["status"].update(replicas=3)), "2 of 2 pods are up to date and available"),
        (broken(lambda d: d["status"].update(conditions=[])), "it is not Available"),
        (broken(lambda d: d.pop("status")), "its change has not been seen"),
        ({"metadata": {}, "spec": {}}, "its pods do not mount config-1, tenant yet"),
    ],
)
def test_what_is_missing_is_said(deployment: Any, says: str) -> None:
    assert str(missing(deployment, EXPECTED)).startswith(says)


def test_a_rollout_that_is_stuck_says_so() -> None:
    stuck = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    deployment = broken(lambda d: d["status"].update(availableReplicas=0, conditions=[stuck]))
    assert missing(deployment, EXPECTED) == "0 of 2 pods are up to date and available; ProgressDeadlineExceeded"


def waited(answers: list[Any], timeout: float = 10) -> int:
    """How often was looked; each answer is a Deployment or an error, the last one for ever."""
    now = [0.0]
    looks = [0]

    def read() -> Any:
        answer = answers[min(looks[0], len(answers) - 1)]
        looks[0] += 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(seconds: float) -> None:
        now[0] += seconds

    until_ready(read, EXPECTED, "kbs", timeout, clock=lambda: now[0], sleep=sleep)
    return looks[0]


def test_it_waits_through_what_passes() -> None:
    assert waited([None, Unseen("the cluster x cannot be reached"), broken(lambda d: d.pop("status")), GOOD]) == 4


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "no Deployment trustee-deployment. Its operator says why: `kubectl -n kbs logs deployment/trustee-op"),
        (broken(lambda d: d["status"].update(availableReplicas=0)), "`kubectl -n kbs describe pods -l app=kbs`"),
        (Unseen("the cluster x cannot be reached"), "Make the cluster reachable with the context of the stack file."),
    ],
)
def test_it_ends_in_time_with_what_was_last_seen_and_where_to_look(answer: Any, says: str) -> None:
    with pytest.raises(NotReady) as caught:
        waited([answer])
    assert "after 10 s" in str(caught.value)
    assert says in str(caught.value)
