"""What the tests of both operators ask of what was recorded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from tests.components.recording import Recorded, empties

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "RINGFENCE_UPDATE_GOLDEN"
MANAGED = {"app.kubernetes.io/managed-by": "ringfence"}
CONTROL_PLANE = {"control-plane": "controller-manager"}
PRIVILEGED = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
CRD = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NAMESPACE = "kubernetes:core/v1:Namespace"
PATCH = "kubernetes:core/v1:ServiceAccountPatch"
SECRET = "kubernetes:core/v1:Secret"
SERVICE = "kubernetes:core/v1:Service"
SERVICE_ACCOUNT = "kubernetes:core/v1:ServiceAccount"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1:"

BINDINGS = [
    ("ClusterRoleBinding", "manager"),
    ("ClusterRoleBinding", "metrics-auth"),
    ("RoleBinding", "leader-election"),
]
"""Kind → the part of the manager whose role it binds."""
ELECTION = {
    ("", "configmaps"): ALL,
    ("coordination.k8s.io", "leases"): ALL,
    ("", "events"): ["create", "patch"],
}
METRICS_AUTH = {
    ("authentication.k8s.io", "tokenreviews"): ["create"],
    ("authorization.k8s.io", "subjectaccessreviews"): ["create"],
}
METRICS_READER = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def body(recorded: Recorded, type: str, name: str) -> dict[str, Any]:
    """What the object of that name says, without apiVersion, kind, its name and the label that all of ours have."""
    (found,) = [one.inputs for one in recorded.all(type) if one.inputs["metadata"]["name"] == name]
    metadata = {key: value for key, value in found["metadata"].items() if key != "name"}
    labels = dict(metadata.pop("labels", {}))
    assert labels.items() >= MANAGED.items() or type == PATCH, f"{name} is not marked as ours"
    labels = {key: value for key, value in labels.items() if key not in MANAGED}
    rest = {key: value for key, value in found.items() if key not in {"apiVersion", "kind", "metadata"}}
    return rest | metadata | ({"labels": labels} if labels else {})


def may(recorded: Recorded, kind: str, name: str) -> dict[tuple[str, str], list[str]]:
    """(API group, resource) → verbs."""
    found: dict[tuple[str, str], list[str]] = {}
    for rule in body(recorded, f"{RBAC}{kind}", name)["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                assert (group, resource) not in found, "each is said once"
                found[group, resource] = sorted(rule["verbs"])
    return found


def bound_to_the_manager(recorded: Recorded, prefix: str, namespace: str, binding: str, part: str) -> None:
    """Whether the role of that part is the manager's, by a RoleBinding or a ClusterRoleBinding."""
    found = body(recorded, f"{RBAC}{binding}", f"{prefix}-{part}-rolebinding")
    role = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": binding.removesuffix("Binding"),
        "name": f"{prefix}-{part}-role",
    }
    manager = {"kind": "ServiceAccount", "name": f"{prefix}-controller-manager", "namespace": namespace}
    where = {"namespace": namespace} if binding == "RoleBinding" else {}
    assert found == {"roleRef": role, "subjects": [manager]} | where


def nothing_empty(recorded: Recorded) -> None:
    """Whether no object but the CRD has a field that says nothing."""
    found = {one.name: list(empties(one.inputs)) for one in recorded.kubernetes() if one.type != CRD}
    assert not {name: paths for name, paths in found.items() if paths}, "each refresh would find a difference"


def names(recorded: Recorded) -> set[tuple[str, str]]:
    """(kind, name) of every object."""
    return {(one.type.rpartition(":")[2], one.inputs["metadata"]["name"]) for one in recorded.kubernetes()}


def same_as_golden(recorded: Recorded, file: str) -> None:
    """The CRDs have files of their own. RINGFENCE_UPDATE_GOLDEN=1 writes it anew."""
    objects = sorted((one for one in recorded.kubernetes() if one.type != CRD), key=lambda one: (one.type, one.name))
    judge(yaml.safe_dump_all([one.inputs for one in objects], allow_unicode=True, width=120), file)


def judge(text: str, file: str) -> None:
    """Whether the file says the same."""
    path = GOLDEN / file
    if os.environ.get(UPDATE):
        path.write_text(text)
    assert text == path.read_text(), f"not what {file} says; write it anew with {UPDATE}=1 and read the difference"
