"""Names, labels and the status of a CcRuntime, as cc-operator 0.13.0 has them."""

from __future__ import annotations

import copy
from typing import Any

from sandbox.standin.kube import Kube, Object, labels_of

NAMESPACE = "confidential-containers-system"
MANAGER = "cc-operator-controller-manager"
CC_RUNTIMES = "/apis/confidentialcontainers.org/v1beta1/ccruntimes"
FINALIZER = "runtimeconfig.confidentialcontainers.org/finalizer"

PRE_INSTALLED = {"confidentialcontainers.org/preinstall": "done"}
START_UNINSTALL = {"confidentialcontainers.org/startuninstall": "true"}
POST_UNINSTALLED = {"confidentialcontainers.org/postuninstall": "done"}
WORKER = {"node.kubernetes.io/worker": ""}


def config(cr: Object) -> dict[str, Any]:
    return dict(cr["spec"]["config"])


def selected(cr: Object) -> dict[str, str]:
    """The labels of the nodes it is for. Only matchLabels count; whatever matchExpressions say is passed over."""
    selector = cr["spec"].get("ccNodeSelector")
    return dict(WORKER if selector is None else selector.get("matchLabels") or {})


def hook_image(cr: Object, hook: str) -> str:
    """Of preInstall or postUninstall; empty if there is no such hook."""
    return str(config(cr).get(hook, {}).get("image", ""))


def empty_status() -> Object:
    """All that a Go program writes of a status in which nothing is set yet."""
    progress: Object = {"completed": {}, "failed": {}, "inProgress": {}}
    return {
        "runtimeClass": "",
        "runtimeName": "",
        "totalNodesCount": 0,
        "installationStatus": progress,
        "unInstallationStatus": copy.deepcopy(progress),
        "upgradeStatus": {},
    }


def status_of(cr: Object) -> Object:
    """A copy of its status that may be changed."""
    return empty_status() | copy.deepcopy(cr.get("status") or {})


def write_status(operator: Kube, cr: Object, status: Object) -> Object:
    """The CcRuntime with that status, written if it differs."""
    if cr.get("status") == status:
        return cr
    return operator.replace(f"{CC_RUNTIMES}/{cr['metadata']['name']}/status", cr | {"status": status})


def write_finalizers(operator: Kube, cr: Object, finalizers: list[str]) -> Object:
    """An update of the whole object, as the operator does it: what it has filled in on the way is written too."""
    updated = copy.deepcopy(cr)
    updated["metadata"]["finalizers"] = finalizers
    if updated["spec"].get("ccNodeSelector") is None:
        updated["spec"]["ccNodeSelector"] = {"matchLabels": dict(WORKER)}
    for hook in ("preInstall", "postUninstall"):
        updated["spec"]["config"].setdefault(hook, {})
    return operator.replace(f"{CC_RUNTIMES}/{cr['metadata']['name']}", updated)


def has(node: Object, labels: dict[str, str]) -> bool:
    return labels.items() <= labels_of(node).items()
