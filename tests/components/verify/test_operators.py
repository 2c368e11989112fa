"""What is said of an operator: namespace, CRD, Deployment, pull secrets, and pods that do not start."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from components.crds.definitions import kbsconfigs
from components.npu_dra_driver import POD_SECURITY
from components.verify.operators import Operator, judge_operator, unpullable
from tests.components.verify.clusters import NAMESPACE, deployment, lines, secret, snapshot, thing

IMAGE = "registry.example/operator:1"
OPERATOR = Operator(
    name="trustee-operator", version="0.5.0", namespace=NAMESPACE, image=IMAGE, crd=kbsconfigs(), accounts=["account"]
)
CRD_NAME = "kbsconfigs.confidentialcontainers.org"


def said(check: str, *objects: Any, operator: Operator = OPERATOR, **more: Any) -> list[str]:
    return lines(judge_operator(operator, snapshot(*objects, **more)), f"{operator.name}: {check}")


def namespace(**labels: str) -> dict[str, Any]:
    return thing("Namespace", NAMESPACE, metadata={"labels": POD_SECURITY | labels})


def crd(established: str = "True", without: str = "", more: str = "") -> dict[str, Any]:
    found = copy.deepcopy(kbsconfigs())
    fields = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    if without:
        del fields[without]
    if more:
        fields[more] = {"type": "string"}
    return {**found, "status": {"conditions": [{"type": "Established", "status": established}]}}


def test_the_namespace_has_to_allow_privileged_pods() -> None:
    assert said("namespace", namespace()) == [f"ok: {NAMESPACE} allows privileged pods."]
    assert said("namespace") == [f"failed: there is no namespace {NAMESPACE}."]
    key = "pod-security.kubernetes.io/enforce"
    wrong = f"failed: {NAMESPACE} has {key}=baseline, and privileged is needed."
    assert said("namespace", namespace(**{key: "baseline"})) == [wrong]


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        (crd(), f"ok: {CRD_NAME} is served, with the fields of 0.5.0."),
        (crd("False"), f"failed: {CRD_NAME} is not Established: the API server does not say why."),
        (
            crd(without="kbsDeploymentType"),
            f"failed: {CRD_NAME} is not that of 0.5.0: it lacks v1alpha1: spec.kbsDeploymentType "
            "(string AllInOneDeployment|MicroservicesDeployment).",
        ),
        (
            crd(more="probeCmd"),
            f"failed: {CRD_NAME} is not that of 0.5.0: it has v1alpha1: spec.probeCmd (string) besides.",
        ),
    ],
)
def test_the_crd_has_to_have_the_fields_of_the_version(there: dict[str, Any], wanted: str) -> None:
    assert said("CRD", there) == [wanted]


def test_a_crd_that_is_not_the_stacks_may_differ_and_whether_that_matters_is_unknown() -> None:
    skipped = Operator(**{**vars(OPERATOR), "owns_crd": False})
    (found,) = said("CRD", crd(more="probeCmd"), operator=skipped)
    assert found.startswith("unknown: ")
    assert said("CRD", operator=skipped) == [f"failed: there is no CRD {CRD_NAME}."]


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ({}, f"ok: trustee-operator-controller-manager is available, 1 ready, with {IMAGE}."),
        ({"replicas": 0}, "failed: trustee-operator-controller-manager is scaled to 0."),
        ({"ready": 0}, "failed: trustee-operator-controller-manager has 0 of 1 pods up to date and ready."),
        ({"available": "False"}, "failed: trustee-operator-controller-manager is not Available."),
    ],
)
def test_the_deployment_has_to_have_pods_that_are_ready(there: dict[str, Any], wanted: str) -> None:
    """Available alone is not enough: with one pod, of which one may be missing, it is so without any."""
    found = deployment("trustee-operator-controller-manager", {"manager": IMAGE}, **there)
    assert said("Deployment", found) == [wanted]


def test_another_image_than_the_declared_one_is_told() -> None:
    found = deployment("trustee-operator-controller-manager", {"manager": "registry.example/operator:0"})
    wanted = f"failed: container manager has image registry.example/operator:0, and {IMAGE} is declared."
    assert said("Deployment", found) == [wanted]


def test_a_pull_secret_has_to_be_there_and_to_be_named_by_the_account() -> None:
    operator = Operator(**{**vars(OPERATOR), "pull_secrets": ["registry"]})
    named = thing("ServiceAccount", "account", NAMESPACE, imagePullSecrets=[{"name": "registry"}])
    forgetful = thing("ServiceAccount", "account", NAMESPACE)
    held = secret("registry", {})
    there = "ok: registry is there and named by account; what is in it is not tried."
    assert said("pull secrets", held, named, operator=operator) == [there]
    absent = f"failed: there is no Secret registry in {NAMESPACE}."
    assert said("pull secrets", named, operator=operator) == [absent]
    unnamed = "failed: ServiceAccount account does not name registry."
    assert said("pull secrets", held, forgetful, operator=operator) == [unnamed]


def test_what_may_not_be_read_is_unknown_and_not_missing() -> None:
    operator = Operator(**{**vars(OPERATOR), "pull_secrets": ["registry"]})
    hidden = [("Secret", NAMESPACE)]
    assert said("pull secrets", operator=operator, hidden=hidden) == [
        f"unknown: Secret of {NAMESPACE} cannot be read: the API server answers 403."
    ]


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        ("ContainerCreating", f"ok: no pod of {NAMESPACE} is held up by its image."),
        ("ErrImagePull", "failed: pod hook on node-1 cannot pull registry.example/hook:1 (ErrImagePull)."),
        ("CrashLoopBackOff", "failed: pod hook on node-1 ends again and again."),
    ],
)
def test_pods_that_cannot_start_are_named_with_their_node(reason: str, wanted: str) -> None:
    waiting = {"image": "registry.example/hook:1", "state": {"waiting": {"reason": reason}}}
    pod = thing("Pod", "hook", NAMESPACE, spec={"nodeName": "node-1"}, status={"containerStatuses": [waiting]})
    assert lines(unpullable("pods", NAMESPACE, snapshot(pod)), "pods") == [wanted]
