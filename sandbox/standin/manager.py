"""The Deployment of an operator's manager: while it is not available, its operator does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.standin import kube
from sandbox.standin.kube import Kube

_PRIVILEGED = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}


@dataclass(frozen=True)
class Manager:
    """An available one. env: of its container, without what is not a plain value."""

    namespace: str
    uid: str
    generation: int
    service_account: str
    env: Mapping[str, str]


def find(api: Kube, namespace: str, name: str) -> Manager | None:
    """None unless it is available and not being deleted."""
    found = api.get(kube.deployments(namespace), name)
    if found is None or "deletionTimestamp" in found["metadata"]:
        return None
    conditions = found.get("status", {}).get("conditions", [])
    if not any(each["type"] == "Available" and each["status"] == "True" for each in conditions):
        return None
    pod = found["spec"]["template"]["spec"]
    env = {each["name"]: each.get("value", "") for each in pod["containers"][0].get("env", [])}
    account = pod.get("serviceAccountName", "default")
    metadata = found["metadata"]
    return Manager(namespace, metadata["uid"], metadata["generation"], account, env)


def label_namespace(operator: Kube, namespace: str) -> None:
    """What both managers do when they start: allow privileged pods in their namespace."""
    path = kube.namespace(namespace)
    found = operator.get("/api/v1/namespaces", namespace)
    if found is not None and not _PRIVILEGED.items() <= kube.labels_of(found).items():
        found["metadata"]["labels"] = kube.labels_of(found) | _PRIVILEGED
        operator.replace(path, found)
