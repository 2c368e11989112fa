"""What is said of the confidential runtime: the CcRuntime, its nodes, its installers and those of others."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from components.cc_from_settings import cc_runtime_args
from components.cc_runtime import spec
from components.cluster_view import ClusterAccess
from components.readiness import FINALIZER
from components.verify.runtime import judge_runtime
from settings.cc_presets import NAME
from settings.cc_runtime import CcRuntimeSettings
from tests.components.verify.clusters import NAMESPACE, lines, snapshot, thing
from tests.settings.cc import RUNTIME, read

SETTINGS: CcRuntimeSettings = read({**RUNTIME, "nodes": ["a", "b"]}).cc_runtime
SPEC = spec(cc_runtime_args(SETTINGS, ClusterAccess(context=""), None))
CLASSES = [thing("RuntimeClass", one.name) for one in SETTINGS.classes]
DONE = {
    "node.kubernetes.io/worker": "",
    "confidentialcontainers.org/preinstall": "done",
    "katacontainers.io/kata-runtime": "true",
}


def node(name: str, labels: dict[str, str] = DONE) -> dict[str, Any]:
    return thing(
        "Node", name, metadata={"labels": labels}, status={"conditions": [{"type": "Ready", "status": "True"}]}
    )


def cc_runtime(name: str = NAME, payload: str | None = None, completed: tuple[str, ...] = ("a", "b")) -> dict[str, Any]:
    wanted = copy.deepcopy(SPEC)
    if payload is not None:
        wanted["config"]["payloadImage"] = payload
    # As the operator writes it back with its finalizer.
    wanted["config"]["imagePullSecret"] = {}
    del wanted["config"]["debug"]
    status = {
        "runtimeClass": "kata-qemu",
        "installationStatus": {"completed": {"completedNodesList": list(completed)}},
    }
    return thing("CcRuntime", name, metadata={"finalizers": [FINALIZER]}, spec=wanted, status=status)


def daemon_set(name: str, image: str, namespace: str = NAMESPACE) -> dict[str, Any]:
    return thing("DaemonSet", name, namespace, spec={"template": {"spec": {"containers": [{"image": image}]}}})


def said(check: str, *objects: Any) -> list[str]:
    return lines(judge_runtime(SETTINGS, SPEC, NAMESPACE, snapshot(*objects)), check)


HEALTHY = (cc_runtime(), node("a"), node("b"), node("c", {}), *CLASSES)


def test_a_healthy_runtime_is_ok() -> None:
    assert said("CcRuntime", *HEALTHY) == [f"ok: {NAME} is the only one, and its spec the declared one."]
    assert said("confidential nodes", *HEALTHY) == ["ok: a, b: installed and Ready."]
    assert said("node labels", *HEALTHY) == [
        'ok: node.kubernetes.io/worker="" is on the declared nodes and on no other.'
    ]


def test_there_is_one_cc_runtime_and_it_says_what_is_declared() -> None:
    assert said("CcRuntime", node("a")) == [f"failed: there is no CcRuntime {NAME}."]
    assert said("CcRuntime", *HEALTHY, cc_runtime("mine")) == [
        f"failed: there is mine besides {NAME}, and both make DaemonSets of the same names."
    ]
    wanted = SPEC["config"]["payloadImage"]
    assert said("CcRuntime", cc_runtime(payload="other:1")) == [
        f"failed: its spec is not the declared one: config.payloadImage is other:1, not {wanted}."
    ]


def test_nodes_that_are_labelled_and_not_declared_or_done_and_not_labelled() -> None:
    (more,) = said("node labels", cc_runtime(), node("a"), node("b"), node("c"))
    assert more == 'failed: c: labelled node.kubernetes.io/worker="" and not declared, so Kata is installed there too.'
    stale = cc_runtime(completed=("a", "b", "gone"))
    assert said("confidential nodes", stale, node("a"), node("b"), *CLASSES) == [
        "failed: gone: the CcRuntime counts it as done and it is not labelled, so the count never adds up again."
    ]


def test_each_trouble_of_the_nodes_is_a_line() -> None:
    found = said("confidential nodes", cc_runtime(), node("a"), node("b", {}))
    assert 'failed: b: it does not carry the label node.kubernetes.io/worker="".' in found
    assert any("the cluster has no RuntimeClass" in one for one in found)


def test_a_node_that_is_not_ready_is_told_with_its_kubelets_words() -> None:
    """Only here: in the sandbox the simulated kubelet puts the condition right at once."""
    down = node("b")
    down["status"]["conditions"] = [{"type": "Ready", "status": "False", "message": "container runtime is down"}]
    assert said("confidential nodes", cc_runtime(), node("a"), down, *CLASSES) == [
        "failed: b: the node is not Ready: container runtime is down."
    ]


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        (SPEC["config"]["payloadImage"], "ok: 1 DaemonSets of the operator have the images of the CcRuntime."),
        (
            "older:1",
            f"failed: DaemonSet cc-operator-daemon-install has older:1, and the CcRuntime "
            f"{SPEC['config']['payloadImage']}.",
        ),
    ],
)
def test_daemon_sets_are_made_once_so_their_images_are_compared(image: str, wanted: str) -> None:
    assert wanted in said("installers", cc_runtime(), daemon_set("cc-operator-daemon-install", image))


def test_a_kata_deploy_of_someone_else_is_told() -> None:
    assert said("other installers") == ["ok: no kata-deploy of its own in kube-system."]
    assert said("other installers", daemon_set("kata-deploy", "kata:1", "kube-system")) == [
        "failed: DaemonSet kata-deploy in kube-system changes the same files of the hosts."
    ]
