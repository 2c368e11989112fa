"""Whether a CcRuntime is ready and may go, judged from objects as the API server has them."""

from __future__ import annotations

from typing import Any

import pytest

from components.readiness import (
    FINALIZER,
    class_names,
    hindrances,
    judge,
    label_trouble,
    unrestored,
)

CLASSES = ("kata-qemu", "kata-qemu-virtcca")
DONE = {
    "node.kubernetes.io/worker": "",
    "confidentialcontainers.org/preinstall": "done",
    "katacontainers.io/kata-runtime": "true",
}


def node(name: str, labels: dict[str, str] = DONE, ready: str = "True") -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "message": "container runtime is down"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"conditions": [condition]}}


def cc_runtime(*completed: str, **status: Any) -> dict[str, Any]:
    installation = {"completed": {"completedNodesList": list(completed), "completedNodesCount": len(completed)}}
    return {
        "metadata": {"name": "ccruntime-sample", "finalizers": [FINALIZER]},
        "spec": {
            "ccNodeSelector": {"matchLabels": {"node.kubernetes.io/worker": ""}},
            "config": {"runtimeClasses": [{"name": name} for name in CLASSES], "defaultRuntimeClassName": "kata-qemu"},
        },
        "status": {"runtimeClass": ", ".join(CLASSES), "installationStatus": installation | status},
    }


def pod(name: str, runtime_class: str | None, phase: str = "Running") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"nodeName": "a", **({"runtimeClassName": runtime_class} if runtime_class else {})},
        "status": {"phase": phase},
    }


def said(*args: Any, **more: Any) -> list[str]:
    return [str(one) for one in judge(*args, **more).missing]


def test_it_is_ready_when_every_labelled_node_is_through_and_ready_and_the_classes_are_there() -> None:
    verdict = judge(cc_runtime("a", "b"), [node("a"), node("b"), node("c", {})], CLASSES, ["a", "b"])
    assert verdict.ready, verdict.missing
    assert verdict.nodes == ("a", "b")


def test_right_after_its_creation_it_is_not_ready() -> None:
    bare = {"metadata": {"name": "x"}, "spec": cc_runtime()["spec"]}
    assert not judge(bare, [node("a", {"node.kubernetes.io/worker": ""})], []).ready, (
        "no status is what a generic wait takes for ready"
    )
    assert said(None, [], []) == ["there is no CcRuntime. Run pulumi up."]


def test_names_count_and_not_numbers() -> None:
    """The list of completed nodes only grows: with a node replaced, the counts agree and a node is missing."""
    verdict = judge(cc_runtime("gone"), [node("new")], CLASSES)
    assert [one.node for one in verdict.missing] == ["new"]
    assert verdict.stale == ("gone",)
    assert judge(cc_runtime("a", "gone"), [node("a")], CLASSES).ready, "and with one more than there are it is ready"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({}, "a: the pre-install hook has not finished. Look at its pod of DaemonSet cc-operator-pre-install-daemon"),
        (
            {"confidentialcontainers.org/preinstall": "done"},
            "a: the Kata runtime is not installed yet. Look at its pod of DaemonSet cc-operator-daemon-install",
        ),
        (DONE, "a: the Kata runtime is installed, but the operator has not taken note of it."),
    ],
)
def test_a_node_that_is_not_through_is_told_with_the_step_it_is_at(labels: dict[str, str], words: str) -> None:
    (found,) = said(cc_runtime(), [node("a", {"node.kubernetes.io/worker": ""} | labels)], CLASSES)
    assert found.startswith(words)


def test_what_the_operator_says_of_a_failed_node_is_passed_on() -> None:
    failed = {"failedNodesList": [{"name": "a", "error": "image cannot be pulled."}]}
    (found,) = said(cc_runtime(failed=failed), [node("a")], CLASSES)
    assert found.startswith("a: the operator says that it failed: image cannot be pulled. Look at")


def test_a_label_with_another_value_selects_nothing_and_that_is_said() -> None:
    (found,) = said(cc_runtime(), [node("a", {"node.kubernetes.io/worker": "true"})], CLASSES)
    assert found.startswith('no node carries the label node.kubernetes.io/worker="", so the operator installs nothing')


def test_a_node_of_the_stack_that_lost_its_label_or_left_is_named() -> None:
    found = said(cc_runtime("a", "b"), [node("a"), node("b", {})], CLASSES, ["a", "b", "c"])
    assert found[0].startswith('b: it does not carry the label node.kubernetes.io/worker="".')
    assert found[1].startswith("c: it is not in the cluster.")
    assert len(found) == 2, "a is ready, and nothing more is wrong"


def test_a_node_that_did_not_come_back_from_its_restart_of_containerd_is_told() -> None:
    (found,) = said(cc_runtime("a"), [node("a", ready="False")], CLASSES)
    assert found.startswith("a: the node is not Ready: container runtime is down. See on the host")


def test_missing_classes_are_told_by_name() -> None:
    (found,) = said(cc_runtime("a"), [node("a")], ["kata-qemu"])
    assert found.startswith("the cluster has no RuntimeClass kata-qemu-virtcca.")
    empty = cc_runtime("a")
    empty["status"]["runtimeClass"] = ""
    assert said(empty, [node("a")], CLASSES)[0].startswith("the CcRuntime's status names no runtime class yet.")


def test_it_is_not_removed_under_running_pods() -> None:
    pods = [
        pod("plain", None),
        pod("done", "kata-qemu", "Succeeded"),
        pod("alias", "kata"),
        pod("vm", "kata-qemu-virtcca"),
    ]
    found = [str(one) for one in hindrances(cc_runtime("a"), [node("a")], pods)]
    assert [one.partition(" still")[0] for one in found] == ["a: pod team/alias", "a: pod team/vm"]
    assert class_names(cc_runtime()) == {"kata", *CLASSES}


def test_it_is_not_removed_before_the_operator_would_clean_up() -> None:
    early = cc_runtime("a")
    early["metadata"]["finalizers"] = []
    (found,) = hindrances(early, [node("a"), node("untouched", {"node.kubernetes.io/worker": ""})], [])
    assert found.node == "a"
    assert "remove the labels confidentialcontainers.org/preinstall" in found.remedy, "or it could never be removed"
    assert hindrances(early, [node("b", {"node.kubernetes.io/worker": ""})], []) == (), "nothing was touched"


def test_a_removal_that_hangs_says_on_which_host() -> None:
    start = {"confidentialcontainers.org/startuninstall": "true", "node.kubernetes.io/worker": ""}
    cleaned = start | {"katacontainers.io/kata-runtime": "cleanup"}
    nodes = [
        node("a", start),
        node("b", cleaned),
        node("c", cleaned | {"confidentialcontainers.org/postuninstall": "done"}),
    ]
    found = [str(one) for one in unrestored(cc_runtime("a", "b", "c", "gone"), nodes)]
    assert found[0].startswith("gone: the operator waits for it, and it has left the cluster or lost its label.")
    assert '--type merge -p \'{"metadata":{"finalizers":null}}\'' in found[0]
    assert found[1].startswith("a: Kata is not uninstalled. Look at its pod of DaemonSet cc-operator-daemon-uninstall")
    assert found[2].startswith("b: the post-uninstall hook has not finished.")
    assert len(found) == 3


def test_only_a_node_that_is_there_and_free_is_labelled() -> None:
    assert label_trouble("a", node("a"), "node.kubernetes.io/worker", "") is None
    assert label_trouble("a", node("a", {}), "node.kubernetes.io/worker", "") is None
    taken = label_trouble("a", node("a", {"w": "true"}), "w", "")
    assert str(taken) == (
        "a: it has the label w with the value 'true', and the CcRuntime selects ''. "
        "Take it off (kubectl label node a w-), or choose another label for the CcRuntime."
    )
    assert "to label it would make one" in str(label_trouble("b", None, "w", ""))
