"""`CcOperator`: every object as the release has it, the order of coming and going, and what a site changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pulumi
import pytest
import yaml

from components.cc_operator import CcOperator, CcOperatorArgs
from components.crds.definitions import ccruntimes
from components.operators_from_settings import cc_operator_args
from settings.cc_operator import CcOperatorSettings
from tests.components.operators import (
    ALL,
    BINDINGS,
    CONFIG_MAP,
    CONTROL_PLANE,
    CRD,
    DEPLOYMENT,
    ELECTION,
    MANAGED,
    METRICS_AUTH,
    METRICS_READER,
    NAMESPACE,
    PRIVILEGED,
    RBAC,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    body,
    bound_to_the_manager,
    may,
    names,
    nothing_empty,
    same_as_golden,
)
from tests.components.recording import Recorded, record

ARGS = CcOperatorArgs(image="quay.io/confidential-containers/operator:v0.13.0")
SYSTEM = "confidential-containers-system"
MANAGER = "cc-operator-controller-manager"


def operator(args: CcOperatorArgs = ARGS) -> Recorded:
    return record(lambda: CcOperator("cc", args))


def settled(**written: Any) -> Recorded:
    return operator(cc_operator_args(CcOperatorSettings.model_validate(written)))


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return operator()


def test_what_is_created_is_what_was_reviewed(recorded: Recorded) -> None:
    same_as_golden(recorded, "cc-operator.yaml")


def test_these_objects_and_no_others_are_created(recorded: Recorded) -> None:
    assert names(recorded) == {
        ("Namespace", SYSTEM),
        ("CustomResourceDefinition", "ccruntimes.confidentialcontainers.org"),
        ("ServiceAccount", MANAGER),
        ("ClusterRole", "cc-operator-manager-role"),
        ("ClusterRoleBinding", "cc-operator-manager-rolebinding"),
        ("Role", "cc-operator-leader-election-role"),
        ("RoleBinding", "cc-operator-leader-election-rolebinding"),
        ("ClusterRole", "cc-operator-metrics-auth-role"),
        ("ClusterRoleBinding", "cc-operator-metrics-auth-rolebinding"),
        ("ClusterRole", "cc-operator-metrics-reader"),
        ("ConfigMap", "cc-operator-manager-config"),
        ("Service", "cc-operator-controller-manager-metrics-service"),
        ("Deployment", MANAGER),
    }


def test_the_namespace_has_the_labels_that_the_manager_writes_when_it_starts(recorded: Recorded) -> None:
    assert body(recorded, NAMESPACE, SYSTEM) == {"labels": CONTROL_PLANE | PRIVILEGED}, "else the two would take turns"


def test_the_crd_is_ours_and_its_being_served_is_awaited(recorded: Recorded) -> None:
    wanted, found = ccruntimes(), recorded.one(CRD).inputs
    assert found["spec"] == wanted["spec"]
    assert found["metadata"] == wanted["metadata"] | {"annotations": {"pulumi.com/waitFor": "condition=Established"}}, (
        "pulumi does not wait for a CRD unless it is told to"
    )


def test_the_service_account_is_the_one_that_the_installers_use(recorded: Recorded) -> None:
    assert body(recorded, SERVICE_ACCOUNT, MANAGER) == {"namespace": SYSTEM}


def test_the_manager_may_do_what_upstreams_may_and_nothing_else(recorded: Recorded) -> None:
    assert may(recorded, "ClusterRole", "cc-operator-manager-role") == {
        ("", "namespaces"): ["get", "update"],
        ("", "nodes"): ["get", "list", "patch", "update", "watch"],
        ("apps", "daemonsets"): ALL,
        ("confidentialcontainers.org", "ccruntimes"): ALL,
        ("confidentialcontainers.org", "ccruntimes/finalizers"): ["update"],
        ("confidentialcontainers.org", "ccruntimes/status"): ["get", "patch", "update"],
        ("node.k8s.io", "runtimeclasses"): ALL,
    }


def test_it_may_elect_a_leader_in_its_own_namespace(recorded: Recorded) -> None:
    assert may(recorded, "Role", "cc-operator-leader-election-role") == ELECTION
    assert body(recorded, f"{RBAC}Role", "cc-operator-leader-election-role")["namespace"] == SYSTEM


def test_it_may_judge_who_reads_its_metrics(recorded: Recorded) -> None:
    assert may(recorded, "ClusterRole", "cc-operator-metrics-auth-role") == METRICS_AUTH


def test_a_role_for_reading_metrics_is_there_and_bound_to_nobody(recorded: Recorded) -> None:
    rules = body(recorded, f"{RBAC}ClusterRole", "cc-operator-metrics-reader")["rules"]
    assert rules == METRICS_READER
    bound = {
        one.inputs["roleRef"]["name"]
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for one in recorded.all(f"{RBAC}{kind}")
    }
    assert "cc-operator-metrics-reader" not in bound


@pytest.mark.parametrize(("binding", "part"), BINDINGS)
def test_each_role_is_bound_to_the_managers_account(recorded: Recorded, binding: str, part: str) -> None:
    bound_to_the_manager(recorded, "cc-operator", SYSTEM, binding, part)


def test_the_legacy_configuration_is_there_and_nothing_mounts_it(recorded: Recorded) -> None:
    found = body(recorded, CONFIG_MAP, "cc-operator-manager-config")
    assert set(found) == {"data", "namespace"}
    legacy = yaml.safe_load(found["data"]["controller_manager_config.yaml"])
    assert legacy["leaderElection"]["resourceName"] == "69bf4d38.confidentialcontainers.org"
    assert "volumes" not in recorded.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]


def test_the_metrics_service_leads_to_the_manager(recorded: Recorded) -> None:
    port = {"name": "https", "port": 8443, "protocol": "TCP", "targetPort": 8443}
    assert body(recorded, SERVICE, "cc-operator-controller-manager-metrics-service") == {
        "namespace": SYSTEM,
        "labels": CONTROL_PLANE,
        "spec": {"ports": [port], "selector": CONTROL_PLANE},
    }


def test_the_deployment_is_the_releases_field_by_field(recorded: Recorded) -> None:
    field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    assert body(recorded, DEPLOYMENT, MANAGER) == {
        "namespace": SYSTEM,
        "labels": CONTROL_PLANE,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": CONTROL_PLANE},
            "template": {
                "metadata": {"labels": CONTROL_PLANE | MANAGED},
                "spec": {
                    "serviceAccountName": MANAGER,
                    "securityContext": {"runAsNonRoot": True},
                    "terminationGracePeriodSeconds": 10,
                    "containers": [
                        {
                            "name": "manager",
                            "image": "quay.io/confidential-containers/operator:v0.13.0",
                            "command": ["/manager"],
                            "args": ["--metrics-secure", "--metrics-bind-address=:8443", "--leader-elect"],
                            "env": [{"name": "CCRUNTIME_NAMESPACE", "valueFrom": field}],
                            "securityContext": {"allowPrivilegeEscalation": False},
                            "livenessProbe": {
                                "httpGet": {"path": "/healthz", "port": 8081},
                                "initialDelaySeconds": 15,
                                "periodSeconds": 20,
                            },
                            "readinessProbe": {
                                "httpGet": {"path": "/readyz", "port": 8081},
                                "initialDelaySeconds": 5,
                                "periodSeconds": 10,
                            },
                            "resources": {
                                "requests": {"cpu": "100m", "memory": "20Mi"},
                                "limits": {"cpu": "200m", "memory": "100Mi"},
                            },
                        }
                    ],
                },
            },
        },
    }


def test_the_manager_starts_when_its_crd_is_served_and_its_rights_are_there(recorded: Recorded) -> None:
    waits = recorded.one(DEPLOYMENT).depends_on
    assert "cc-crd" in waits, "a manager that starts earlier knows no CcRuntime, and says so for ever"
    rights = {one.name for one in recorded.kubernetes() if one.type.startswith(RBAC)}
    assert len(rights) == 7
    assert rights <= waits, "and on the way down it keeps its rights for as long as it lives"


def test_the_namespace_is_the_last_to_go(recorded: Recorded) -> None:
    assert "cc-namespace" in recorded.one(CRD).depends_on, "the CRD goes before it, and after the Deployment"


def test_waiting_for_the_manager_has_an_end() -> None:
    timeouts = settled(availableWithin=90).one(DEPLOYMENT).request.customTimeouts
    assert (timeouts.create, timeouts.update) == ("90s", "90s")


def test_a_runtime_can_wait_for_all_that_it_takes() -> None:
    def program() -> None:
        found = CcOperator("cc", ARGS)
        pulumi.ComponentResource("test:index:After", "after", None, pulumi.ResourceOptions(depends_on=found.ready))

    waits = record(program).one("test:index:After").depends_on
    assert {"cc-crd", "cc-deployment", "cc-manager-role", "cc-manager-rolebinding"} <= waits


def test_skipping_the_crd_leaves_it_to_someone_else() -> None:
    assert settled(crd="skip").all(CRD) == []
    assert settled(crd="skip").one(DEPLOYMENT).depends_on


@pytest.mark.parametrize("protect", [True, False])
def test_protecting_is_the_callers_choice(protect: bool) -> None:
    recorded = settled(protect=protect)
    assert {one.request.protect for one in recorded.kubernetes() if one.type in {CRD, NAMESPACE}} == {protect}
    apart = operator(replace(ARGS, protect_namespace=protect, protect_crd=not protect))
    assert apart.one(NAMESPACE).request.protect is protect
    assert apart.one(CRD).request.protect is not protect


def test_pull_secrets_are_the_accounts_because_no_custom_resource_can_name_them() -> None:
    account = settled(imagePullSecrets=["a", "b"]).one(SERVICE_ACCOUNT).inputs
    assert account["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


def test_credentials_become_a_secret_whose_content_is_not_shown() -> None:
    recorded = operator(replace(ARGS, pull_secrets=("a",), registry_credentials={"b": '{"auths": {}}'}))
    found = recorded.one(SECRET)
    assert found.inputs["type"] == "kubernetes.io/dockerconfigjson"
    assert found.inputs["metadata"]["namespace"] == SYSTEM
    kept = found.request.object["stringData"]
    assert "4dabf18193072939515e22adb298388d" in str(kept), "the mark by which the engine knows a secret"
    account = recorded.one(SERVICE_ACCOUNT)
    assert account.inputs["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert "cc-b" in account.depends_on, "the manager's first pull would fail without it"


def test_a_secret_cannot_be_there_and_be_made() -> None:
    with pytest.raises(ValueError, match="registry_credentials makes what pull_secrets says is there: a"):
        replace(ARGS, pull_secrets=("a",), registry_credentials={"a": "{}"})


def test_what_a_site_changes_arrives() -> None:
    recorded = settled(
        version="0.17.0",
        registryMirror="mirror.example:5000/quay",
        namespace="fence",
        resources={"limits": {"memory": "1Gi"}},
        tolerations=[{"key": "npu", "operator": "Exists", "effect": "NoSchedule"}],
    )
    spec = recorded.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["image"] == "mirror.example:5000/quay/confidential-containers/operator:v0.17.0"
    assert container["resources"]["limits"] == {"cpu": "200m", "memory": "1Gi"}, "one by one, the rest stays"
    assert spec["tolerations"] == [{"key": "npu", "operator": "Exists", "effect": "NoSchedule"}]
    inside = {
        one.inputs["metadata"]["namespace"] for one in recorded.kubernetes() if "namespace" in one.inputs["metadata"]
    }
    assert inside == {"fence"}
    for binding in (*recorded.all(f"{RBAC}ClusterRoleBinding"), *recorded.all(f"{RBAC}RoleBinding")):
        assert binding.inputs["subjects"][0]["namespace"] == "fence"


def test_nothing_empty_is_written_but_what_means_something() -> None:
    nothing_empty(operator())


def test_everything_is_a_child_of_the_component(recorded: Recorded) -> None:
    assert {one.parent for one in recorded.kubernetes()} == {"cc"}
    assert recorded.one("ringfence:index:CcOperator").name == "cc"
