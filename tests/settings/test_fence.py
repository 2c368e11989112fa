"""What the sections of `ringfence:fence` say together, and what is refused of it before anything is created."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from settings.errors import SettingsError
from settings.fence_checks import warnings_of
from settings.load import read
from tests.settings.cc import DIGEST, RUNTIME, WORKLOAD
from tests.settings.files import GONE, stack_file
from tests.settings.kbs_files import SIMPLE

IMAGES = {name: f"registry.example/{name.lower()}{DIGEST}" for name in ("kbs", "kbsMicroservices", "as", "rvps")}
KBS = {"kbs": {**SIMPLE, "serviceType": "LoadBalancer"}, "trusteeOperator": {"images": IMAGES}}
ELSEWHERE = {"trustedCluster": {"context": "there", "identifier": "there", "version": "1.37"}}
INSIDE = "kbs-service.trustee-operator-system.svc.cluster.local"
WHOLE: Mapping[str, Any] = {"ccRuntime": RUNTIME, "workloads": [WORKLOAD], **KBS, **ELSEWHERE}


def problems(folder: Path, fence: Mapping[str, Any], ring: bool = False) -> list[str]:
    changes: dict[str, Any] = {"fence": fence} if fence else {}
    try:
        read(stack_file(folder, changes if ring else {**changes, "ring": GONE}))
    except SettingsError as error:
        return [str(one) for one in error.problems]
    return []


@pytest.mark.parametrize(
    "fence",
    [WHOLE, {"ccRuntime": RUNTIME}, KBS, {"ccOperator": {}}, {"trusteeOperator": {"images": IMAGES}}],
    ids=["both halves", "the runtime alone", "the broker alone", "an operator for a runtime that goes", "the other"],
)
def test_each_half_may_be_there_alone_beside_the_ring_or_without(tmp_path: Path, fence: Mapping[str, Any]) -> None:
    assert problems(tmp_path, fence) == []
    assert problems(tmp_path, fence, ring=True) == []


@pytest.mark.parametrize(
    ("fence", "says"),
    [
        ({}, "ringfence: the stack deploys nothing. Add ringfence:ring, ringfence:fence or both."),
        ({"production": True}, "ringfence:fence: deploys nothing. Add ccRuntime or kbs, or remove it."),
        (
            {"kbs": KBS["kbs"]},
            "ringfence:fence.trusteeOperator: is missing, and only the operator knows which images the key broker is "
            "made of. Add it, with its images.",
        ),
        (
            {**KBS, "workloads": [WORKLOAD]},
            "ringfence:fence.workloads: nothing in this stack says which runtime classes and annotations there are "
            "for them. Add ccRuntime, or remove them.",
        ),
        (
            {**WHOLE, "workloads": [WORKLOAD, WORKLOAD]},
            "ringfence:fence.workloads[1]: team/model is there twice. Remove one.",
        ),
        (
            {"ccRuntime": RUNTIME, **ELSEWHERE},
            "ringfence:fence.trustedCluster: nothing is deployed there. Add kbs and trusteeOperator, or remove it.",
        ),
        (
            {**WHOLE, "trustedCluster": {**ELSEWHERE["trustedCluster"], "identifier": "here"}},
            "ringfence:fence.trustedCluster.identifier: here is the cluster of the workloads, too. Name another one, "
            "or remove trustedCluster to have one cluster.",
        ),
        (
            {**WHOLE, "trustedCluster": {**ELSEWHERE["trustedCluster"], "context": "here"}},
            "ringfence:fence.trustedCluster.context: here is the cluster of the workloads, too. Name another one, or "
            "remove trustedCluster to have one cluster.",
        ),
        (
            {
                **WHOLE,
                "trustedCluster": {**ELSEWHERE["trustedCluster"], "featureGates": {"DRAExtendedResource": False}},
            },
            "ringfence:fence.trustedCluster.featureGates.DRAExtendedResource: Kubernetes 1.37 locks it to true, and "
            "would not start with false. Remove it.",
        ),
        (
            {**WHOLE, "workloads": [{**WORKLOAD, "kbsUrl": f"https://{INSIDE}:8080"}]},
            f"ringfence:fence.workloads[0].kbsUrl: {INSIDE} is known on the key broker's cluster only, and the guests "
            "run on another. Remove it: then it is https://kbs.example:30080.",
        ),
        (
            {**WHOLE, "kbs": {key: value for key, value in WHOLE["kbs"].items() if key != "tls"}},
            "ringfence:fence.kbs.tls: is missing, so keys would go over the network in clear. "
            "Run `ringfence fence keys` and add tls: {}.",
        ),
        (
            {"ccOperator": {"namespace": "coco"}, "trusteeOperator": {"images": IMAGES, "namespace": "coco"}},
            "ringfence:fence.trusteeOperator.namespace: coco is that of fence.ccOperator too, and an operator needs "
            "one of its own. Write another one, or leave the key out.",
        ),
        (
            {**WHOLE, "kbs": {**KBS["kbs"], "serviceType": "ClusterIP"}},
            "ringfence:fence.kbs.serviceType: ClusterIP is reached from inside its own cluster only, and the guests "
            "run on another. Write LoadBalancer or NodePort.",
        ),
    ],
)
def test_what_does_not_go_together_is_told_by_key(tmp_path: Path, fence: Mapping[str, Any], says: str) -> None:
    assert problems(tmp_path, fence) == [says]


@pytest.mark.parametrize("namespace", ["jobs", "npu-dra-driver"])
def test_an_operator_shares_no_namespace_with_the_ring(tmp_path: Path, namespace: str) -> None:
    (said,) = problems(tmp_path, {"ccOperator": {"namespace": namespace}}, ring=True)
    assert f"ringfence:fence.ccOperator.namespace: {namespace} is that of ring." in said


def test_on_two_clusters_a_namespace_may_be_on_each(tmp_path: Path) -> None:
    here = {**WHOLE, "trusteeOperator": {"images": IMAGES, "namespace": "jobs"}}
    assert problems(tmp_path, here, ring=True) == []


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("kbs:///default/security-policy/test", []),
        (
            "kbs:///default/security-policy/tst",
            [
                "ringfence:fence.workloads[0].signaturePolicyUri: kbs:///default/security-policy/tst is not in "
                "kbs.resources; unless someone else puts it into the key broker, none of these pods starts. "
                "Did you mean kbs:///default/security-policy/test?"
            ],
        ),
    ],
)
def test_a_resource_that_the_key_broker_lacks_is_warned_of(tmp_path: Path, uri: str, says: list[str]) -> None:
    workload = {**WORKLOAD, "signaturePolicyUri": uri}
    fence = read(stack_file(tmp_path, {"fence": {**WHOLE, "workloads": [workload]}})).fence
    assert fence is not None
    assert [line for line in warnings_of(fence) if "workloads" in line] == says
