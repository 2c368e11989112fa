"""`TrusteeOperator`: every object as upstream has it, all images named, and what opens the registry for the broker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pulumi
import pytest

from components.crds.definitions import kbsconfigs
from components.operators_from_settings import trustee_operator_args
from components.trustee_operator import TrusteeImages, TrusteeOperator, TrusteeOperatorArgs
from settings.trustee_operator import TrusteeOperatorSettings
from tests.components.operators import (
    ALL,
    BINDINGS,
    CONTROL_PLANE,
    CRD,
    DEPLOYMENT,
    ELECTION,
    MANAGED,
    METRICS_AUTH,
    METRICS_READER,
    NAMESPACE,
    PATCH,
    PRIVILEGED,
    RBAC,
    SERVICE_ACCOUNT,
    body,
    bound_to_the_manager,
    may,
    names,
    nothing_empty,
    same_as_golden,
)
from tests.components.recording import Recorded, record

IMAGES = TrusteeImages(
    kbs="r.example/kbs:built-in",
    kbs_microservices="r.example/kbs:1",
    attestation_service="r.example/as:1",
    rvps="r.example/rvps:1",
)
ARGS = TrusteeOperatorArgs(image="quay.io/confidential-containers/trustee-operator:v0.5.0", images=IMAGES)
SYSTEM = "trustee-operator-system"
MANAGER = "trustee-operator-controller-manager"
WRITTEN = {
    "images": {
        "kbs": "r.example/kbs:built-in",
        "kbsMicroservices": "r.example/kbs:1",
        "as": "r.example/as:1",
        "rvps": "r.example/rvps:1",
    }
}


def operator(args: TrusteeOperatorArgs = ARGS) -> Recorded:
    return record(lambda: TrusteeOperator("trustee", args))


def settled(**written: Any) -> Recorded:
    return operator(trustee_operator_args(TrusteeOperatorSettings.model_validate(WRITTEN | written)))


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return operator()


def test_what_is_created_is_what_was_reviewed() -> None:
    same_as_golden(settled(imagePullSecrets=["registry"]), "trustee-operator.yaml")


def test_these_objects_and_no_others_are_created(recorded: Recorded) -> None:
    assert names(recorded) == {
        ("Namespace", SYSTEM),
        ("CustomResourceDefinition", "kbsconfigs.confidentialcontainers.org"),
        ("ServiceAccount", MANAGER),
        ("ClusterRole", "trustee-operator-manager-role"),
        ("ClusterRoleBinding", "trustee-operator-manager-rolebinding"),
        ("Role", "trustee-operator-leader-election-role"),
        ("RoleBinding", "trustee-operator-leader-election-rolebinding"),
        ("ClusterRole", "trustee-operator-metrics-auth-role"),
        ("ClusterRoleBinding", "trustee-operator-metrics-auth-rolebinding"),
        ("ClusterRole", "trustee-operator-metrics-reader"),
        ("Deployment", MANAGER),
    }


def test_the_namespace_has_the_labels_that_the_manager_writes_when_it_starts(recorded: Recorded) -> None:
    assert body(recorded, NAMESPACE, SYSTEM) == {"labels": CONTROL_PLANE | PRIVILEGED}, "else the two would take turns"


def test_the_crd_is_ours_and_its_being_served_is_awaited(recorded: Recorded) -> None:
    found = recorded.one(CRD).inputs
    assert found["spec"] == kbsconfigs()["spec"]
    assert found["metadata"]["annotations"] == {"pulumi.com/waitFor": "condition=Established"}


def test_the_manager_may_do_what_upstreams_may_and_nothing_else(recorded: Recorded) -> None:
    assert may(recorded, "ClusterRole", "trustee-operator-manager-role") == {
        ("", "configmaps"): ["get", "list", "watch"],
        ("", "secrets"): ["get", "list", "watch"],
        ("", "namespaces"): ["get", "update"],
        ("", "services"): ALL,
        ("apps", "deployments"): ALL,
        ("confidentialcontainers.org", "kbsconfigs"): ALL,
        ("confidentialcontainers.org", "kbsconfigs/finalizers"): ["update"],
        ("confidentialcontainers.org", "kbsconfigs/status"): ["get", "patch", "update"],
    }


def test_it_elects_a_leader_and_guards_its_metrics_as_every_such_manager(recorded: Recorded) -> None:
    assert may(recorded, "Role", "trustee-operator-leader-election-role") == ELECTION
    assert may(recorded, "ClusterRole", "trustee-operator-metrics-auth-role") == METRICS_AUTH
    rules = body(recorded, f"{RBAC}ClusterRole", "trustee-operator-metrics-reader")["rules"]
    assert rules == METRICS_READER


@pytest.mark.parametrize(("binding", "part"), BINDINGS)
def test_each_role_is_bound_to_the_managers_account(recorded: Recorded, binding: str, part: str) -> None:
    bound_to_the_manager(recorded, "trustee-operator", SYSTEM, binding, part)


def test_the_deployment_is_upstreams_field_by_field(recorded: Recorded) -> None:
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
                            "image": "quay.io/confidential-containers/trustee-operator:v0.5.0",
                            "command": ["/manager"],
                            "args": [
                                "--metrics-bind-address=:8443",
                                "--leader-elect",
                                "--health-probe-bind-address=:8081",
                            ],
                            "env": [
                                {"name": "POD_NAMESPACE", "valueFrom": field},
                                {"name": "KBS_IMAGE_NAME", "value": "r.example/kbs:built-in"},
                                {"name": "KBS_IMAGE_NAME_MICROSERVICES", "value": "r.example/kbs:1"},
                                {"name": "AS_IMAGE_NAME", "value": "r.example/as:1"},
                                {"name": "RVPS_IMAGE_NAME", "value": "r.example/rvps:1"},
                            ],
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "capabilities": {"drop": ["ALL"]},
                            },
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
                                "requests": {"cpu": "10m", "memory": "64Mi"},
                                "limits": {"cpu": "500m", "memory": "128Mi"},
                            },
                        }
                    ],
                },
            },
        },
    }


def test_pull_secrets_go_to_the_operator_and_to_the_account_of_the_key_broker() -> None:
    recorded = settled(imagePullSecrets=["registry"])
    wanted = [{"name": "registry"}]
    assert body(recorded, SERVICE_ACCOUNT, MANAGER) == {"namespace": SYSTEM, "imagePullSecrets": wanted}
    assert body(recorded, PATCH, "default") == {"namespace": SYSTEM, "imagePullSecrets": wanted}


def test_the_account_of_the_key_broker_is_left_alone_where_no_registry_is_closed(recorded: Recorded) -> None:
    assert recorded.all(PATCH) == []
    assert body(recorded, SERVICE_ACCOUNT, MANAGER) == {"namespace": SYSTEM}


def test_the_account_default_is_never_owned() -> None:
    recorded = settled(imagePullSecrets=["registry"])
    owned = {one.inputs["metadata"]["name"] for one in recorded.all(SERVICE_ACCOUNT)}
    assert owned == {MANAGER}, "Kubernetes makes `default` itself, at any moment"


def test_a_key_broker_can_wait_for_all_that_it_takes() -> None:
    def program() -> None:
        found = TrusteeOperator("trustee", replace(ARGS, pull_secrets=("registry",)))
        pulumi.ComponentResource("test:index:After", "after", None, pulumi.ResourceOptions(depends_on=found.ready))

    waits = record(program).one("test:index:After").depends_on
    assert {"trustee-crd", "trustee-deployment", "trustee-default-account", "trustee-manager-rolebinding"} <= waits


def test_it_starts_last_and_its_namespace_goes_last(recorded: Recorded) -> None:
    rights = {one.name for one in recorded.kubernetes() if one.type.startswith(RBAC)}
    assert {"trustee-crd", "trustee-service-account", *rights} <= recorded.one(DEPLOYMENT).depends_on
    assert "trustee-namespace" in recorded.one(CRD).depends_on


def test_what_a_site_changes_arrives() -> None:
    recorded = settled(
        registryMirror="mirror.example",
        resources={"requests": {"memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        crd="skip",
        protect=False,
    )
    (container,) = recorded.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "mirror.example/confidential-containers/trustee-operator:v0.5.0"
    assert container["resources"] == {
        "requests": {"cpu": "10m", "memory": "256Mi"},
        "limits": {"cpu": "500m", "memory": "1Gi"},
    }
    assert recorded.all(CRD) == []
    assert recorded.one(NAMESPACE).request.protect is False


def test_nothing_empty_is_written(recorded: Recorded) -> None:
    nothing_empty(recorded)


def test_everything_is_a_child_of_the_component(recorded: Recorded) -> None:
    assert {one.parent for one in recorded.kubernetes()} == {"trustee"}
    assert recorded.one("ringfence:index:TrusteeOperator").name == "trustee"
