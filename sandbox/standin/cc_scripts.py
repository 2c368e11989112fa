"""What the containers of cc-operator's DaemonSets do once they run: label their node, make and remove RuntimeClasses.

The rights are those of the ServiceAccount the pods run as. A pod that has done its work bears an annotation, as its
script runs once and not again because someone changed a label.
"""

from __future__ import annotations

import time
from typing import Any

from kubernetes.client import ApiException

from sandbox.standin import cc_daemonsets, kube
from sandbox.standin.behaviour import CcBehaviour, Course
from sandbox.standin.cc_objects import MANAGER, NAMESPACE, POST_UNINSTALLED, PRE_INSTALLED
from sandbox.standin.kube import Kube, Object

DONE = "ringfence.dev/script"

_INSTALLED = {"katacontainers.io/kata-runtime": "true"}
_CLEANED = {"katacontainers.io/kata-runtime": "cleanup"}
_OVERHEAD = {"kata-qemu-virtcca": {"podFixed": {"memory": "2048Mi", "cpu": "1"}}}


class Scripts:
    """api: of someone who may see all pods."""

    def __init__(self, api: Kube) -> None:
        self._api = api
        self._account = api.as_account(NAMESPACE, MANAGER)
        self._seen: dict[str, float] = {}

    def play(self, behaviour: CcBehaviour) -> None:
        """Let each running pod whose time has come do its work.

        With its node a pod's containers are gone, though the pod is listed as running until it is collected.
        """
        pods = self._api.all(kube.pods(NAMESPACE))
        nodes = {node["metadata"]["name"] for node in self._api.all(kube.NODES)}
        for pod in pods:
            metadata = pod["metadata"]
            daemon = kube.labels_of(pod).get("name")
            if daemon not in cc_daemonsets.NAMES or not _runs(pod) or DONE in metadata.get("annotations", {}):
                continue
            if pod["spec"]["nodeName"] not in nodes:
                continue
            began = self._seen.setdefault(metadata["uid"], time.monotonic())
            installs = daemon in (cc_daemonsets.PRE_INSTALL, cc_daemonsets.INSTALL)
            course = behaviour.install if installs else behaviour.uninstall
            if _is_done(course, pod["spec"]["nodeName"], behaviour, time.monotonic() - began) and self._run(
                daemon, pod
            ):
                self._api.merge(
                    f"{kube.pods(NAMESPACE)}/{metadata['name']}", {"metadata": {"annotations": {DONE: "done"}}}
                )

    def close(self) -> None:
        self._account.close()

    def _run(self, daemon: str, pod: Object) -> bool:
        """Whether there is nothing left to do."""
        node = pod["spec"]["nodeName"]
        if daemon == cc_daemonsets.PRE_INSTALL:
            self._label(node, PRE_INSTALLED)
        elif daemon == cc_daemonsets.POST_UNINSTALL:
            self._label(node, POST_UNINSTALLED)
        elif daemon == cc_daemonsets.INSTALL:
            for name, handler in _classes(pod).items():
                self._make_class(name, handler)
            self._label(node, _INSTALLED)
        else:
            for name in _classes(pod):
                self._account.delete(kube.RUNTIME_CLASSES, name)
            others = self._account.all(kube.daemon_sets("kube-system"))
            if any("kata-deploy" in each["metadata"]["name"] for each in others):
                # It takes the node for someone else's, and leaves the label to them.
                return False
            self._label(node, _CLEANED)
        return True

    def _make_class(self, name: str, handler: str) -> None:
        body: dict[str, Any] = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": handler,
            "scheduling": {"nodeSelector": _INSTALLED},
        }
        if handler in _OVERHEAD:
            body["overhead"] = _OVERHEAD[handler]
        try:
            self._account.create(kube.RUNTIME_CLASSES, body)
        except ApiException as error:
            if error.status != 409:
                raise

    def _label(self, node: str, labels: dict[str, str]) -> None:
        self._account.merge(f"{kube.NODES}/{node}", {"metadata": {"labels": labels}})


def _runs(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _is_done(course: Course, node: str, behaviour: CcBehaviour, runs_for: float) -> bool:
    if course == "slow":
        return runs_for >= behaviour.seconds
    affected = not behaviour.nodes or node in behaviour.nodes
    return course == "quick" or not affected


def _classes(pod: Object) -> dict[str, str]:
    """RuntimeClass → handler, from the environment that the operator gave the payload."""
    env = {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][0]["env"]}
    classes = {f"kata-{shim}": f"kata-{shim}" for shim in env["SHIMS"].split()}
    if env["CREATE_DEFAULT_RUNTIMECLASS"] == "true":
        classes["kata"] = f"kata-{env['DEFAULT_SHIM']}"
    return classes if env["CREATE_RUNTIMECLASSES"] == "true" else {}
