"""The four DaemonSets of cc-operator. Their names are fixed, and one that exists is never written again."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sandbox.standin import kube, kubelet
from sandbox.standin.cc_objects import MANAGER, NAMESPACE, START_UNINSTALL, config, selected
from sandbox.standin.kube import Kube, Object

PRE_INSTALL = "cc-operator-pre-install-daemon"
INSTALL = "cc-operator-daemon-install"
UNINSTALL = "cc-operator-daemon-uninstall"
POST_UNINSTALL = "cc-operator-post-uninstall-daemon"
NAMES = (PRE_INSTALL, INSTALL, UNINSTALL, POST_UNINSTALL)

_SCRIPTS = "/opt/confidential-containers-pre-install-artifacts/scripts"
_NODE_NAME = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}


def ensure(operator: Kube, body: Object, unpullable: Collection[str]) -> None:
    """Create it if there is none of that name, whatever that one looks like."""
    path = kube.daemon_sets(NAMESPACE)
    if operator.get(path, body["metadata"]["name"]) is None:
        template = body["spec"]["template"]
        body["spec"]["template"] = kubelet.take(template, take=kubelet.cannot_pull(template["spec"], unpullable))
        operator.create(path, body)


def install(cr: Object) -> Object:
    settings = config(cr)
    body = _payload(cr, INSTALL, selected(cr), settings.get("installCmd"))
    if settings.get("cleanupCmd"):
        (container,) = body["spec"]["template"]["spec"]["containers"]
        container["lifecycle"] = {"preStop": {"exec": {"command": settings["cleanupCmd"]}}}
    return body


def uninstall(cr: Object) -> Object:
    """Idle until the operator labels nodes for it."""
    return _payload(cr, UNINSTALL, START_UNINSTALL, config(cr).get("uninstallCmd"))


def pre_install(cr: Object) -> Object:
    return _hook(cr, PRE_INSTALL, "preInstall", "pre-install")


def post_uninstall(cr: Object) -> Object:
    return _hook(cr, POST_UNINSTALL, "postUninstall", "post-uninstall")


def _payload(cr: Object, name: str, nodes: dict[str, str], command: list[str] | None) -> Object:
    settings = config(cr)
    container: dict[str, Any] = {
        "name": "cc-runtime-install-pod",
        "image": settings["payloadImage"],
        "env": [*_payload_env(settings), *settings.get("environmentVariables", [])],
        "volumeMounts": settings.get("installerVolumeMounts", []),
    }
    if command:
        container["command"] = command
    body = _daemon_set(cr, name, nodes, container, settings.get("installerVolumes", []))
    body["metadata"]["ownerReferences"] = [kube.owner(cr)]
    return body


def _payload_env(settings: dict[str, Any]) -> list[dict[str, Any]]:
    default = settings.get("defaultRuntimeClassName", "")
    prefixed = default.startswith("kata-")
    classes = [(entry["name"].removeprefix("kata-"), entry) for entry in settings.get("runtimeClasses", [])]

    def mapping(key: str) -> str:
        return ",".join(f"{shim}:{entry[key]}" for shim, entry in classes if entry.get(key))

    values = {
        "DEBUG": str(settings.get("debug", False)).lower(),
        "DEFAULT_SHIM": default.removeprefix("kata-") if prefixed else "",
        "CREATE_DEFAULT_RUNTIMECLASS": str(prefixed).lower(),
        "CREATE_RUNTIMECLASSES": "true",
        "SHIMS": " ".join(shim for shim, _ in classes),
        "SNAPSHOTTER_HANDLER_MAPPING": mapping("snapshotter"),
        "PULL_TYPE_MAPPING": mapping("pulltype"),
    }
    return [_NODE_NAME, *({"name": name, "value": value} for name, value in values.items())]


def _hook(cr: Object, name: str, key: str, script: str) -> Object:
    settings = config(cr)
    hook = settings[key]
    container = {
        "name": f"cc-runtime-{script}-pod",
        "image": hook["image"],
        # cmd of the CcRuntime has no say here.
        "command": ["/bin/sh", "-c", f"{_SCRIPTS}/{script}.sh"],
        "env": [_NODE_NAME, *settings.get("environmentVariables", []), *hook.get("environmentVariables", [])],
        "volumeMounts": hook.get("volumeMounts", []),
    }
    return _daemon_set(cr, name, selected(cr), container, hook.get("volumes", []))


def _daemon_set(
    cr: Object, name: str, nodes: dict[str, str], container: dict[str, Any], volumes: list[Object]
) -> Object:
    privileged = {
        "imagePullPolicy": config(cr).get("imagePullPolicy") or "Always",
        "securityContext": {"privileged": True, "runAsUser": 0},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": {"name": name}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"name": name}},
                "spec": {
                    "serviceAccountName": MANAGER,
                    "nodeSelector": nodes,
                    "tolerations": cr["spec"].get("ccTolerations", []),
                    "hostPID": True,
                    "containers": [container | privileged],
                    "volumes": volumes,
                },
            },
        },
    }
