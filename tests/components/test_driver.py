"""`NpuDraDriver`: what it may do, what it sees of the host, and the fence around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.driver_pod import DriverPod
from components.npu_dra_driver import NpuDraDriver, NpuDraDriverArgs
from tests.components.recording import Recorded, empties, record

POD = DriverPod(image="registry.example/npu@sha256:" + "0" * 64, node_selector={"npu": "yes"})
ARGS = NpuDraDriverArgs(namespace="npu-dra-driver", pod=POD, granular_status=True)

DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"
POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
NAMESPACE = "kubernetes:core/v1:Namespace"
QUOTA = "kubernetes:core/v1:ResourceQuota"


def driver(args: NpuDraDriverArgs = ARGS) -> Recorded:
    return record(lambda: NpuDraDriver("driver", args))


def pod(args: NpuDraDriverArgs = ARGS) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = driver(args).one(DAEMON_SET).inputs["spec"]["template"]["spec"]
    return spec


def with_pod(**changes: Any) -> NpuDraDriverArgs:
    return replace(ARGS, pod=replace(POD, **changes))


def may(recorded: Recorded) -> dict[str, set[str]]:
    rules = recorded.one(ROLE).inputs["rules"]
    return {resource: set(rule["verbs"]) for rule in rules for resource in rule["resources"]}


def test_it_may_do_what_a_kubelet_plugin_does_and_nothing_else() -> None:
    assert may(driver()) == {
        "resourceclaims": {"get", "list", "watch"},
        "resourceclaims/status": {"patch", "update"},
        "resourceclaims/driver": {"associated-node:patch", "associated-node:update"},
        "resourceslices": {"create", "delete", "get", "list", "patch", "update", "watch"},
        "nodes": {"get"},
    }


def test_before_1_36_it_asks_for_no_permission_that_the_cluster_does_not_know() -> None:
    assert "resourceclaims/driver" not in may(driver(replace(ARGS, granular_status=False)))


def test_it_may_write_only_its_own_part_of_a_claims_status() -> None:
    rules = driver(with_pod(driver_name="npu.example.com")).one(ROLE).inputs["rules"]
    (rule,) = [rule for rule in rules if rule["resources"] == ["resourceclaims/driver"]]
    assert rule["resourceNames"] == ["npu.example.com"], "else it could write that of every other driver"


def test_no_rule_holds_a_wildcard() -> None:
    for rule in driver().one(ROLE).inputs["rules"]:
        assert not {"*"} & {*rule["verbs"], *rule["resources"], *rule["apiGroups"]}, "it would grow with the cluster"


def test_the_fence_covers_every_version_and_every_way_to_write_a_slice() -> None:
    spec = driver().one(POLICY).inputs["spec"]
    (rule,) = spec["matchConstraints"]["resourceRules"]
    assert {"v1", "v1beta1", "v1beta2"} == set(rule["apiVersions"]), "a fence without v1 is none since v1 is served"
    assert set(rule["operations"]) == {"CREATE", "UPDATE", "DELETE"}
    assert rule["resources"] == ["resourceslices"]
    assert spec["failurePolicy"] == "Fail", "a fence that cannot be judged must hold"


def test_the_fence_concerns_the_drivers_account_and_compares_the_tokens_node_with_the_slices() -> None:
    spec = driver(replace(ARGS, namespace="elsewhere")).one(POLICY).inputs["spec"]
    (condition,) = spec["matchConditions"]
    assert "'system:serviceaccount:elsewhere:npu-dra-plugin'" in condition["expression"]
    variables = {variable["name"]: variable["expression"] for variable in spec["variables"]}
    assert "authentication.kubernetes.io/node-name" in variables["userNode"]
    assert "oldObject" in variables["sliceNode"], "a delete has no new object, and would be judged by nothing"
    expressions = [validation["expression"] for validation in spec["validations"]]
    assert expressions == ["variables.userNode != ''", "variables.userNode == variables.sliceNode"], (
        "without the first, a token without a node may write slices of no node"
    )


def test_the_fence_is_bound_and_denies() -> None:
    recorded = driver()
    binding = recorded.one(BINDING).inputs["spec"]
    assert binding["policyName"] == recorded.one(POLICY).inputs["metadata"]["name"], "an unbound policy does nothing"
    assert binding["validationActions"] == ["Deny"], "a warning would stop nobody"


def test_it_starts_only_once_it_is_fenced_and_allowed() -> None:
    assert {
        "driver-slice-policy",
        "driver-slice-policy-binding",
        "driver-cluster-role-binding",
        "driver-service-account",
    } <= driver().one(DAEMON_SET).depends_on


def test_sockets_and_specs_have_the_same_path_inside_and_outside() -> None:
    spec = pod(with_pod(kubelet_root="/data/kubelet", cdi_root="/etc/cdi"))
    inside = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
    outside = {volume["name"]: volume["hostPath"]["path"] for volume in spec["volumes"]}
    assert inside == outside, "the kubelet dials the path that the driver tells it"
    assert {"/data/kubelet/plugins", "/data/kubelet/plugins_registry", "/etc/cdi"} <= set(inside.values())
    environment = {entry["name"]: entry.get("value") for entry in spec["containers"][0]["env"]}
    assert environment["KUBELET_PLUGINS_DIRECTORY_PATH"] == "/data/kubelet/plugins"
    assert environment["CDI_ROOT"] == "/etc/cdi"


def test_the_hosts_npu_software_is_read_only_and_has_to_be_there() -> None:
    spec = pod(with_pod(host_paths=("/etc/enpu",)))
    writable = {"plugins", "plugins-registry", "cdi"}
    for mount in spec["containers"][0]["volumeMounts"]:
        assert ("readOnly" not in mount) == (mount["name"] in writable), f"{mount['name']} is the host's own"
    kinds = {volume["hostPath"]["path"]: volume["hostPath"]["type"] for volume in spec["volumes"]}
    assert kinds["/usr/local/bin/npu-smi"] == "File", (
        "topology comes from it, and a made-up empty folder would hide that"
    )
    assert kinds["/usr/local/Ascend/driver"] == "Directory"
    assert "/etc/enpu" in kinds


def test_the_driver_learns_its_node_from_the_api_and_not_from_configuration() -> None:
    (entry,) = [entry for entry in pod()["containers"][0]["env"] if entry["name"] == "NODE_NAME"]
    assert entry["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName", "it is compared with the node in its token"


def test_it_is_privileged_but_shares_no_namespace_of_the_host() -> None:
    spec = pod()
    assert spec["containers"][0]["securityContext"] == {"privileged": True}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)


def test_only_its_pod_gets_the_token() -> None:
    recorded = driver()
    assert recorded.one("kubernetes:core/v1:ServiceAccount").inputs["automountServiceAccountToken"] is False
    assert pod()["automountServiceAccountToken"] is True


def test_its_namespace_admits_a_privileged_pod_without_warnings() -> None:
    labels = driver().one(NAMESPACE).inputs["metadata"]["labels"]
    modes = {labels[f"pod-security.kubernetes.io/{mode}"] for mode in ("enforce", "audit", "warn")}
    assert modes == {"privileged"}


@pytest.mark.parametrize("protect", [True, False])
def test_protecting_its_namespace_is_the_callers_choice(protect: bool) -> None:
    assert driver(replace(ARGS, protect_namespace=protect)).one(NAMESPACE).request.protect is protect


def test_two_drivers_never_share_a_socket_on_a_node() -> None:
    strategy = driver(replace(ARGS, max_unavailable="10%")).one(DAEMON_SET).inputs["spec"]["updateStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}


def test_the_selector_is_part_of_the_labels_and_never_more() -> None:
    spec = driver().one(DAEMON_SET).inputs["spec"]
    selector = spec["selector"]["matchLabels"]
    assert selector.items() <= spec["template"]["metadata"]["labels"].items()
    assert set(selector) == {"app.kubernetes.io/name", "app.kubernetes.io/component"}, (
        "a selector is immutable: one more label would replace the DaemonSet and with it every driver at once"
    )


def test_it_is_probed_where_it_has_a_port_and_only_there() -> None:
    probed = pod(with_pod(health_port=51515))["containers"][0]
    assert probed["livenessProbe"]["grpc"] == {"port": 51515, "service": "liveness"}
    assert probed["startupProbe"]["periodSeconds"] * probed["startupProbe"]["failureThreshold"] >= 60, (
        "npu-smi is asked up to three times"
    )
    assert {"name": "HEALTHCHECK_PORT", "value": "51515"} in probed["env"], "or it would listen elsewhere"
    assert not {"livenessProbe", "startupProbe"} & set(pod()["containers"][0])


def test_what_a_site_adds_arrives_and_overrides() -> None:
    args = with_pod(
        args=("--share-count=4",),
        env={"LD_LIBRARY_PATH": "/lib"},
        image_pull_secrets=("registry",),
        tolerations=({"key": "npu", "operator": "Exists", "effect": "NoSchedule"},),
        resources={"requests": {"cpu": "100m"}, "limits": {}},
    )
    spec = pod(args)
    container = spec["containers"][0]
    assert container["args"] == ["--share-count=4"]
    assert {"name": "LD_LIBRARY_PATH", "value": "/lib"} in container["env"]
    assert container["resources"] == {"requests": {"cpu": "100m"}}
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["tolerations"] == [{"key": "npu", "operator": "Exists", "effect": "NoSchedule"}]
    assert not [one.name for one in driver(args).kubernetes() if list(empties(one.inputs))]


def test_a_quota_lets_the_priority_in_where_a_cluster_asks_for_one() -> None:
    assert driver().all(QUOTA) == [], "elsewhere it would only be a limit to run into"
    recorded = driver(replace(ARGS, critical_pod_quota=200))
    spec = recorded.one(QUOTA).inputs["spec"]
    assert spec["hard"] == {"pods": "200"}
    assert spec["scopeSelector"]["matchExpressions"][0]["values"] == [POD.priority_class_name]
    assert "driver-critical-pod-quota" in recorded.one(DAEMON_SET).depends_on, "its pods would be refused until then"


def test_one_node_that_is_down_does_not_fail_the_stack_unless_asked_to() -> None:
    waiting = driver(replace(ARGS, rollout_timeout=90)).one(DAEMON_SET)
    assert waiting.request.customTimeouts.update == "90s"
    assert "annotations" not in waiting.inputs["metadata"]
    assert driver().one(DAEMON_SET).inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_everything_is_a_child_of_the_component() -> None:
    assert {one.parent for one in driver().kubernetes()} == {"driver"}
    assert driver().one("ringfence:index:NpuDraDriver").name == "driver"
