"""One control plane for the tests of the stand-ins; each test begins with three nodes and no custom resource."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import nodes, plane, processes
from sandbox.api import client_for
from sandbox.report import Silent
from sandbox.standin import cc_daemonsets, cc_objects, kbs_deployment, kbs_operator, kube
from sandbox.standin.both import StandIn
from sandbox.standin.cc_objects import CC_RUNTIMES
from sandbox.standin.kube import Kube, Object
from tests.sandbox.standin import objects
from tests.sandboxes import sandbox_in

NODES = ("node-0", "node-1", "node-2")


def until(condition: Callable[[], object], what: str, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.05)


@dataclass
class Cluster:
    """The plane, and the stand-in that watches it twice: for both operators."""

    sandbox: plane.Sandbox
    api: Kube
    standin: StandIn

    def stays(self, condition: Callable[[], object], what: str, seconds: float = 1.5) -> None:
        """For several passes. Everything that was to happen has happened before the first one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert condition(), what
            time.sleep(0.1)

    def label(self, node: str, labels: Mapping[str, str | None]) -> None:
        self.api.merge(f"{kube.NODES}/{node}", {"metadata": {"labels": dict(labels)}})

    def label_all(self) -> None:
        for node in NODES:
            self.label(node, cc_objects.WORKER)

    def labels(self, node: str) -> dict[str, str]:
        found = self.api.get(kube.NODES, node)
        assert found is not None
        return kube.labels_of(found)

    def cr(self, name: str = "fence") -> Object | None:
        return self.api.get(CC_RUNTIMES, name)

    def installed(self, name: str = "fence") -> bool:
        found = self.cr(name)
        return found is not None and bool(found.get("status", {}).get("runtimeClass"))

    def daemon_sets(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.api.all(kube.daemon_sets(cc_objects.NAMESPACE))}

    def classes(self) -> set[str]:
        return {each["metadata"]["name"] for each in self.api.all(kube.RUNTIME_CLASSES)}

    def trustee(self) -> Object | None:
        return self.api.get(kube.deployments(kbs_operator.NAMESPACE), kbs_deployment.NAME)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    folder = tmp_path_factory.mktemp("standin") / "state"
    with sandbox_in(folder, "standin", tools, Silent()) as up:
        api = Kube(up.kubeconfig)
        objects.install_cc(api)
        objects.install_kbs(api)
        api.close()
        yield up
    assert processes.marked(folder) == []


@pytest.fixture
def cluster(sandbox: plane.Sandbox) -> Iterator[Cluster]:
    api = Kube(sandbox.kubeconfig)
    with client_for(sandbox.kubeconfig) as connection:
        nodes.publish_plain(connection, NODES)
    with StandIn(sandbox.kubeconfig, sandbox.kubeconfig) as standin:
        yield Cluster(sandbox, api, standin)
    clean(sandbox, api)
    api.close()


def clean(sandbox: plane.Sandbox, api: Kube) -> None:
    """Nothing of a test is left: neither its objects nor a node with its labels."""
    for path in (CC_RUNTIMES, objects.KBS_CONFIGS):
        for cr in api.all(path):
            api.merge(f"{path}/{cr['metadata']['name']}", {"metadata": {"finalizers": None}})
            api.delete(path, cr["metadata"]["name"])
    for name in cc_daemonsets.NAMES:
        api.delete(kube.daemon_sets(cc_objects.NAMESPACE), name)
    for found in api.all(kube.RUNTIME_CLASSES):
        api.delete(kube.RUNTIME_CLASSES, found["metadata"]["name"])
    trustee = kbs_operator.NAMESPACE
    api.delete(kube.deployments(trustee), kbs_deployment.NAME)
    api.delete(kube.services(trustee), kbs_deployment.SERVICE)
    for path in (kube.config_maps(trustee), kube.secrets(trustee)):
        for found in api.all(path):
            if found["metadata"]["name"] != "kube-root-ca.crt":
                api.delete(path, found["metadata"]["name"])
    with client_for(sandbox.kubeconfig) as connection:
        nodes.publish_plain(connection, ())
    for namespace in (cc_objects.NAMESPACE, trustee):
        for pod in api.all(kube.pods(namespace)):
            if kube.labels_of(pod).get("control-plane") is None or "deletionTimestamp" in pod["metadata"]:
                api.delete(kube.pods(namespace), f"{pod['metadata']['name']}?gracePeriodSeconds=0")
    sets = f"/apis/apps/v1/namespaces/{trustee}/replicasets"
    until(lambda: not api.all(sets, kbs_deployment.LABELS), "the ReplicaSets of the KBS are gone", 60)
    until(lambda: not api.all(kube.pods(trustee), kbs_deployment.LABELS), "the pods of the KBS are gone", 60)
