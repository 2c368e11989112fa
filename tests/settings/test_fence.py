"""What the sections of `ringfence:fence` say together, and what is refused of it before anything is created."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from settings.errors import SettingsError
from settings.load import read
from tests.settings.cc import DIGEST, RUNTIME, WORKLOAD
from tests.settings.files import GONE, stack_file
from tests.settings.kbs_files import SIMPLE

IMAGES = {name: f"registry.example/{name.lower()}{DIGEST}" for name in ("kbs", "kbsMicroservices", "as", "rvps")}
KBS = {"kbs": {**SIMPLE, "serviceType": "LoadBalancer"}, "trusteeOperator": {"images": IMAGES}}
ELSEWHERE = {"trustedCluster": {"context": "there", "identifier": "there", "version": "1.37"}}
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
            {**WHOLE, "kbs": {**KBS["kbs"], "serviceType": "ClusterIP"}},
            "ringfence:fence.kbs.serviceType: ClusterIP is reached from inside its own cluster only, and the guests "
            "run on another. Write LoadBalancer or NodePort.",
        ),
    ],
)
def test_what_does_not_go_together_is_told_by_key(tmp_path: Path, fence: Mapping[str, Any], says: str) -> None:
    assert problems(tmp_path, fence) == [says]
