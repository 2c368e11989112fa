"""What the scripts in cc-operator's pods do to their nodes, without a cluster."""

from __future__ import annotations

from typing import Any, cast

from kubernetes.client import ApiException

from sandbox.standin import cc_daemonsets, kube
from sandbox.standin.behaviour import CcBehaviour
from sandbox.standin.cc_objects import NAMESPACE, PRE_INSTALLED
from sandbox.standin.cc_scripts import DONE, Scripts
from sandbox.standin.kube import Kube, Object


class Api:
    """pods: node of each. labels: what each node that is there bears."""

    def __init__(self, pods: dict[str, str], nodes: set[str]) -> None:
        self.pods = {name: _pod(name, node) for name, node in pods.items()}
        self.labels: dict[str, dict[str, str]] = {node: {} for node in nodes}

    def as_account(self, namespace: str, name: str) -> Api:
        return self

    def all(self, collection: str) -> list[Object]:
        if collection == kube.NODES:
            return [{"metadata": {"name": name}} for name in self.labels]
        return list(self.pods.values()) if collection == kube.pods(NAMESPACE) else []

    def merge(self, path: str, patch: dict[str, Any]) -> None:
        collection, _, name = path.rpartition("/")
        if collection == kube.NODES:
            if name not in self.labels:
                raise ApiException(status=404, reason="Not Found")
            self.labels[name] |= patch["metadata"]["labels"]
        else:
            self.pods[name]["metadata"]["annotations"] = patch["metadata"]["annotations"]


def _pod(name: str, node: str) -> Object:
    metadata = {"name": name, "uid": name, "labels": {"name": cc_daemonsets.PRE_INSTALL}}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": "Running"}}


def test_a_pod_whose_node_has_left_keeps_no_other_from_its_work() -> None:
    """It is listed as running until it is collected, a minute later perhaps; its containers ended with the node."""
    api = Api({"pod-a": "gone", "pod-b": "there"}, {"there"})
    Scripts(cast("Kube", api)).play(CcBehaviour())
    assert api.labels == {"there": PRE_INSTALLED}
    assert DONE in api.pods["pod-b"]["metadata"]["annotations"]
    assert "annotations" not in api.pods["pod-a"]["metadata"]
