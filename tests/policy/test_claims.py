"""Where rules on claims could easily be wrong: what looks like a mistake and is none, and what hides one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from policy.rules.catalogue import RULES
from policy.rules.context import Context
from policy.rules.fleet import Fleet, declared
from policy.rules.model import Environment, Level, Rule, Subject
from policy.rules.run import judge, weight
from policy.rules.surroundings import surround
from settings.capabilities import Capabilities
from settings.servers import find_server
from topology.profiles import OPENFUYAO

BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}


def claim(*requests: dict[str, Any], kind: str = "ResourceClaim", **devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def one(name: str = "r", device_class: str = "npu.huawei.com", cel: str | None = None, **asked: Any) -> dict[str, Any]:
    selectors = {"selectors": [{"cel": {"expression": cel}}]} if cel is not None else {}
    return {"name": name, "exactly": {"deviceClassName": device_class, **selectors, **asked}}


def device_class(name: str, *expressions: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}} for expression in expressions]},
    }


def fleet(*names: str) -> Fleet:
    return declared([find_server(name) for name in names], OPENFUYAO)


def levels(rule: str, *manifests: dict[str, Any], **around: Any) -> list[Level]:
    subjects = [Subject(manifest, str(index)) for index, manifest in enumerate(manifests)]
    context: Context = surround(subjects, **around)
    return [
        weight(BY_ID[rule], finding, Environment.PROD)
        for subject in subjects
        for finding in judge(BY_ID[rule], subject, context).findings
    ]


@pytest.mark.parametrize(
    ("cel", "level"),
    [
        ('device.driver == "a.b" && device.attributes["a.b"].x == 1', []),
        # && is false as soon as one side is, whatever the other does.
        ('device.attributes["a.b"].x == 1 && device.driver == "a.b"', []),
        ('device.attributes["a.b"].?x.orValue(0) == 1', []),
        ('has(device.attributes["a.b"].x) && device.attributes["a.b"].x == 1', []),
        ('"x" in device.attributes["a.b"] && device.attributes["a.b"].x == 1', []),
        ('device.driver == "a.b" || device.attributes["a.b"].x == 1', [Level.ERROR]),
        ('device.capacity["a.b"].m.compareTo(quantity("1Gi")) > 0', [Level.ERROR]),
    ],
)
def test_a_guard_is_whatever_keeps_the_expression_from_failing(cel: str, level: list[Level]) -> None:
    assert levels("cel-driver-guard", device_class("k", cel)) == level


def test_the_class_guards_the_requests_of_its_claims() -> None:
    asks = claim(one(device_class="k", cel='device.attributes["a.b"].x == 1'))
    assert levels("cel-driver-guard", asks, device_class("k", 'device.driver == "a.b"')) == []
    assert levels("cel-driver-guard", asks, device_class("k")) == [Level.ERROR]
    assert levels("cel-driver-guard", asks) == [Level.NOTE], "a class that is not known may well do so"


def test_an_attribute_is_asked_for_only_where_a_known_device_lacks_it() -> None:
    chip = claim(one(cel='device.attributes["npu.huawei.com"].chipName == "910B4"'))
    assert levels("cel-existence", chip, fleet=fleet("box16")) == [], "all of them have it"
    sio = claim(one(cel='device.attributes["npu.huawei.com"].topoSioID == 0'))
    assert levels("cel-existence", sio, fleet=fleet("800t-a3")) == []
    assert levels("cel-existence", sio, fleet=fleet("800t-a3", "box16")) == [Level.ERROR], "one server lacks it"
    assert levels("cel-existence", sio) == [Level.NOTE]


def test_functions_that_are_not_replicated_are_no_mistakes() -> None:
    bound = device_class("k", 'cel.bind(a, device.attributes["a.b"], a.x == 1)')
    assert levels("cel-compiles", bound) == [Level.NOTE]


@pytest.mark.parametrize(
    "cel",
    ["device.driver = 'x'", "device.drver == 'x'", "device.driver == 3", "device.driver", "1", "device.driver =="],
)
def test_what_the_api_server_refuses_is_told(cel: str) -> None:
    assert levels("cel-compiles", device_class("k", cel)) == [Level.ERROR]


def test_all_devices_for_watching_take_nothing_from_anyone() -> None:
    assert levels("all-mode", claim(one(allocationMode="All", adminAccess=True))) == []
    assert levels("all-mode", claim(one(allocationMode="All"))) == [Level.WARNING]


def test_alternatives_count_by_the_one_that_is_taken() -> None:
    def listed(*counts: int) -> dict[str, Any]:
        made = [{"name": f"a{n}", "deviceClassName": "k", "count": count} for n, count in enumerate(counts)]
        return {"name": "l", "firstAvailable": made}

    assert levels("claim-devices", claim(listed(16, 8), one(count=16))) == []
    assert levels("claim-devices", claim(listed(32, 8), one(count=16))) == [Level.WARNING], "the larger is dead"
    assert levels("claim-devices", claim(listed(32, 17), one(count=16))) == [Level.ERROR]


def test_a_constraint_may_name_an_alternative() -> None:
    listed = {"name": "l", "firstAvailable": [{"name": "a", "deviceClassName": "k"}]}
    right = claim(listed, constraints=[{"matchAttribute": "a.b/c", "requests": ["l/a"]}])
    wrong = claim(listed, constraints=[{"matchAttribute": "a.b/c", "requests": ["l/b"]}])
    assert levels("request-names", right) == []
    assert levels("request-names", wrong) == [Level.ERROR]


def test_a_claim_for_another_driver_is_not_judged_by_our_servers() -> None:
    gpu = claim(
        one(device_class="gpu.example", count=40, cel='device.attributes["gpu.example"].x == 1'),
        constraints=[{"matchAttribute": "gpu.example/y"}],
    )
    made = device_class("gpu.example", 'device.driver == "gpu.example"')
    for rule in ("matches-a-device", "constraint-attribute", "satisfiable", "worst-case", "keeps-promise"):
        assert Level.ERROR not in levels(rule, gpu, made, fleet=fleet("box16")), rule


def test_one_server_that_satisfies_a_claim_is_enough() -> None:
    ring = claim(one(count=8), constraints=[{"matchAttribute": "npu.huawei.com/topoHccsRingID"}])
    assert levels("satisfiable", ring, fleet=fleet("310p3", "box16")) == []
    assert levels("constraint-attribute", ring, fleet=fleet("310p3")) == [Level.ERROR]
    assert levels("satisfiable", ring, fleet=fleet("310p3")) == [], "said once, by the rule that knows why"


def test_the_same_number_under_two_names_is_told_only_where_both_bind_devices() -> None:
    standard, own = "resource.kubernetes.io/numaNode", "npu.huawei.com/numaNode"
    one_name = claim(one("a"), one("b"), constraints=[{"matchAttribute": standard}])
    two_names = claim(
        one("a"),
        one("b"),
        constraints=[{"matchAttribute": standard, "requests": ["a"]}, {"matchAttribute": own, "requests": ["b"]}],
    )
    assert levels("numa-names", one_name) == []
    assert levels("numa-names", two_names) == [Level.ERROR]


@pytest.mark.parametrize(
    ("version", "gates", "level"),
    [("1.35", {}, [Level.ERROR]), ("1.35", {"DRADeviceTaints": True}, []), ("1.36", {}, []), (None, {}, [Level.NOTE])],
)
def test_what_a_cluster_drops_is_a_matter_of_its_version_and_gates(
    version: Any, gates: dict[str, bool], level: list[Level]
) -> None:
    tolerant = claim(one(tolerations=[{"key": "k", "operator": "Exists"}]))
    cluster = Capabilities(version, gates) if version else None
    assert levels("dropped-field", tolerant, cluster=cluster) == level


NETWORK_POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: "i:1"}]
  resourceClaims: [{name: net, resourceClaimName: c}]
"""


def test_a_claim_that_no_container_uses_may_be_the_pods_as_a_whole() -> None:
    pod = yaml.safe_load(NETWORK_POD)
    assert levels("pod-claims", pod, claim(one(device_class="dranet"))) == [Level.NOTE], "a network device"
    assert levels("pod-claims", pod, claim(one(device_class="910b4.npu.huawei.com"))) == [Level.WARNING]


def test_a_pod_alone_may_use_templates_that_come_from_elsewhere() -> None:
    pod = yaml.safe_load(NETWORK_POD)
    pod["spec"]["resourceClaims"][0] = {"name": "net", "resourceClaimTemplateName": "npu-box16-8"}
    assert set(levels("pod-claims", pod)) == {Level.NOTE}
    assert set(levels("pod-claims", pod, fleet=fleet("box16"))) == {Level.NOTE}
    pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "npu-box16-08"
    assert Level.ERROR in levels("pod-claims", pod, fleet=fleet("box16"))


@pytest.mark.parametrize("words", ["--nproc-per-node=8", "--nproc_per_node 8", "--tensor-parallel-size=8"])
def test_counts_are_read_wherever_a_container_says_them(words: str) -> None:
    pod = yaml.safe_load(NETWORK_POD)
    pod["spec"]["containers"][0] |= {
        "command": ["sh", "-c", f"run {words} x"],
        "resources": {"claims": [{"name": "net"}]},
    }
    assert levels("pod-device-count", pod, claim(one(count=8))) == []
    assert levels("pod-device-count", pod, claim(one(count=4))) == [Level.WARNING]
