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


@pytest.mark.parametrize(("version", "level"), [("1.36", [Level.ERROR]), ("1.37", []), (None, [Level.NOTE])])
def test_a_kind_that_a_cluster_does_not_have_is_not_served_rather_than_dropped(
    version: Any, level: list[Level]
) -> None:
    rule = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {}}
    cluster = Capabilities(version, {}) if version else None
    assert levels("api-version", rule, cluster=cluster) == level
    assert levels("dropped-field", rule, cluster=cluster) == []


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
    for name in ("npu-box16-08", "npu-box16-9"):
        pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = name
        assert Level.ERROR in levels("pod-claims", pod, fleet=fleet("box16")), "of a server all templates are known"


def test_another_number_is_no_slip_where_others_may_be_elsewhere() -> None:
    pod = yaml.safe_load(NETWORK_POD)
    pod["spec"]["resourceClaims"][0] = {"name": "net", "resourceClaimTemplateName": "gpu-2"}
    template = claim(one(), kind="ResourceClaimTemplate") | {"metadata": {"name": "gpu-1"}}
    assert Level.ERROR not in levels("pod-claims", pod, template)
    template["metadata"]["name"] = "gpu-02"
    assert Level.ERROR in levels("pod-claims", pod, template)


@pytest.mark.parametrize(
    ("asked", "there", "level"),
    [
        # A driver's own class comes with the driver; here is only a variant that someone added.
        ("gpu.nvidia.com", "mig-1g-12gb.gpu.nvidia.com", Level.NOTE),
        ("gpu.nvidia.com", "mig.nvidia.com", Level.NOTE),
        ("gpu.nvidia.com", "gpu.nvidai.com", Level.ERROR),
        ("910b4.npu.huawei.com", "npu.huawei.com", Level.ERROR),
        ("npus.huawei.com", "npu.huawei.com", Level.ERROR),
    ],
)
def test_a_class_is_missed_only_where_it_should_be_among_these(asked: str, there: str, level: Level) -> None:
    assert levels("class-exists", claim(one(device_class=asked)), device_class(there, "true")) == [level]


@pytest.mark.parametrize("words", ["--nproc-per-node=8", "--nproc_per_node 8", "--tensor-parallel-size=8"])
def test_counts_are_read_wherever_a_container_says_them(words: str) -> None:
    pod = yaml.safe_load(NETWORK_POD)
    pod["spec"]["containers"][0] |= {
        "command": ["sh", "-c", f"run {words} x"],
        "resources": {"claims": [{"name": "net"}]},
    }
    assert levels("pod-device-count", pod, claim(one(count=8))) == []
    assert levels("pod-device-count", pod, claim(one(count=4))) == [Level.WARNING]


def listed(*asked: dict[str, Any]) -> dict[str, Any]:
    made = [{"name": f"a{n}", "deviceClassName": "npu.huawei.com", **one} for n, one in enumerate(asked)]
    return {"name": "l", "firstAvailable": made}


def cel(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


CHIP = 'device.attributes["npu.huawei.com"].?chipName.orValue("") == '


def test_an_alternative_that_nothing_matches_is_no_error_while_another_is_met() -> None:
    """`claims allocate` gives such a claim the other one."""
    other, same = cel(f'{CHIP}"910C"'), cel(f'{CHIP}"910B4"')
    box = fleet("box16")
    assert levels("matches-a-device", claim(listed(other, same)), fleet=box) == [Level.WARNING]
    assert levels("matches-a-device", claim(listed(other, other)), fleet=box) == [Level.ERROR, Level.ERROR]
    full = claim(listed(other, {"count": 17}))
    assert levels("satisfiable", full, fleet=box) == [Level.ERROR], "the alternative that is left has to fit"


def test_a_constraint_on_one_alternative_leaves_the_others() -> None:
    two = listed({"count": 2}, {"count": 2})
    nowhere = {"matchAttribute": "npu.huawei.com/nowhere"}
    box = fleet("box16")
    assert levels("constraint-attribute", claim(two, constraints=[{**nowhere, "requests": ["l/a0"]}]), fleet=box) == [
        Level.WARNING
    ]
    for requests in ({"requests": ["l"]}, {"requests": ["l/a0", "l/a1"]}, {}):
        dead = claim(two, constraints=[{**nowhere, **requests}])
        assert levels("constraint-attribute", dead, fleet=box) == [Level.ERROR], requests


def slice_of(driver: str, where: dict[str, Any], *devices: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": driver},
        "spec": {
            "driver": driver,
            "pool": {"name": driver, "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices) or [{"name": "d0"}],
            **where,
        },
    }


RACK = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "r", "operator": "Exists"}]}]}}


@pytest.mark.parametrize(
    ("slice_", "level"),
    [
        (slice_of("d.example", {"allNodes": True}), []),
        (slice_of("d.example", {"perDeviceNodeSelection": True}, {"name": "d0", "nodeName": "n7"}), []),
        (slice_of("d.example", {"perDeviceNodeSelection": True}, {"name": "d0", "allNodes": True}), []),
        (slice_of("d.example", RACK), [Level.NOTE]),
    ],
    ids=["of all nodes", "of a node each", "each of all nodes", "of nodes with a label"],
)
def test_devices_without_node_objects_are_not_said_to_be_out_of_reach(slice_: Any, level: list[Level]) -> None:
    """A dump of slices alone has no Nodes."""
    made = device_class("k", 'device.driver == "d.example"')
    assert levels("satisfiable", slice_, made, claim(one(device_class="k"))) == level
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n7", "labels": {"r": "1"}}}
    assert levels("satisfiable", slice_, made, node, claim(one(device_class="k"))) == []
    if not level:
        assert levels("satisfiable", slice_, made, claim(one(device_class="k", count=2))) == [Level.ERROR]


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        (claim(one(allocationMode="All")), "allocationMode All"),
        (claim(one(count=2), constraints=[{"distinctAttribute": "npu.huawei.com/numaNode"}]), "distinctAttribute"),
        (claim(one(count=2, capacity={"requests": {"npu.huawei.com/memory": "1Gi"}})), "capacity"),
        (claim(one(count=2, adminAccess=True)), "adminAccess"),
    ],
)
def test_what_the_cost_rests_on_is_named_where_it_cannot_be_told(asks: dict[str, Any], reason: str) -> None:
    asks["metadata"]["annotations"] = {"ringfence.dev/promise": "one NUMA node"}
    asks["metadata"]["labels"] = {"ringfence.dev/server": "box16", "ringfence.dev/count": "2"}
    subject = Subject(asks)
    around = surround([subject], fleet("box16"))
    for rule in ("worst-case", "keeps-promise"):
        (note,) = judge(BY_ID[rule], subject, around).findings
        assert (note.level, reason in note.says) == (Level.NOTE, True), note


def test_a_constraint_on_a_request_binds_whichever_of_its_alternatives_is_taken() -> None:
    promised = claim(
        listed({"count": 4}, {"count": 2}),
        constraints=[{"matchAttribute": "npu.huawei.com/topoHccsRingID", "requests": ["l"]}],
    )
    promised["metadata"]["annotations"] = {"ringfence.dev/promise": "one ring → one ring"}
    assert levels("keeps-promise", promised, fleet=fleet("box16")) == []
    del promised["spec"]["devices"]["constraints"]
    assert levels("keeps-promise", promised, fleet=fleet("box16")) == [Level.ERROR]


def test_a_class_without_a_known_device_is_said_not_to_be_known() -> None:
    other = claim(one(device_class="k"))
    made = device_class("k", 'device.driver == "gpu.example"')
    assert levels("matches-a-device", other, made, fleet=fleet("box16")) == [Level.NOTE]


def test_an_attribute_of_another_type_fails_the_pod_like_a_missing_one() -> None:
    standard = 'device.attributes["resource.kubernetes.io"]'
    asks = claim(one(device_class="k", cel=f'"numaNode" in {standard} && {standard}.numaNode < 1'))
    number, text = (
        slice_of(
            "d.example", {"nodeName": "n"}, {"name": "d", "attributes": {"resource.kubernetes.io/numaNode": value}}
        )
        for value in ({"int": 0}, {"string": "0"})
    )
    assert levels("cel-existence", asks, device_class("k"), number) == []
    assert levels("cel-existence", asks, device_class("k"), text) == [Level.ERROR]


def test_a_container_names_a_request_and_never_an_alternative() -> None:
    """The API server refuses a name with a slash there."""
    pod = yaml.safe_load(NETWORK_POD)
    asks = claim(listed({"count": 2}, {"count": 1}))
    for request, level in (("l", []), ("l/a0", [Level.ERROR]), ("m", [Level.ERROR])):
        pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "net", "request": request}]}
        assert levels("pod-claims", pod, asks) == level, request
