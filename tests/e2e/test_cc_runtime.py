"""The confidential runtime on a real engine and API server; the tests play the operator, as slowly as they like."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from components.readiness import FINALIZER, INSTALLED_LABEL
from sandbox import places, plane
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.errors import EngineError
from tests.e2e.conftest import REPORT
from tests.sandboxes import sandbox_in
from tests.settings.cc import DIGEST, RUNTIME, WORKLOAD

pytestmark = pytest.mark.real

CC_RUNTIME = ("confidentialcontainers.org", "v1beta1", "ccruntimes", "ccruntime-sample")
CLASSES = ("kata-qemu", "kata-qemu-coco-dev", "kata-qemu-virtcca")
RUN_PROGRAM = "--run-program"

PROGRAM = """
import json
import pulumi
import pulumi_kubernetes as kubernetes
from components import cc_hooks
from components.cc_from_settings import cc_runtime_args, workload_args
from components.cc_runtime import CcRuntime
from components.cluster_view import ClusterAccess
from components.confidential_workload import ConfidentialWorkload
from settings.cc_runtime import CcRuntimeSettings
from settings.confidential_workload import WorkloadSettings

config = pulumi.Config().require_object("trial")
access = ClusterAccess(context=config["context"])
cluster = kubernetes.Provider("cluster", context=config["context"], cluster_identifier="trial")
there = pulumi.ResourceOptions(providers=[cluster])
# In any case: a CcRuntime that has left the stack file is deleted by hooks of this name.
removal = cc_hooks.removal(access, 1)
if config["runtime"]:
    settings = CcRuntimeSettings.model_validate_json(json.dumps(config["runtime"]), strict=True)
    runtime = CcRuntime("cc", cc_runtime_args(settings, access, removal), there)
    metadata = {"name": "user", "namespace": "default"}
    kubernetes.core.v1.ConfigMap(
        "user", metadata=metadata, opts=pulumi.ResourceOptions(provider=cluster, depends_on=[runtime.ready])
    )
    for one in config["workloads"]:
        workload = WorkloadSettings.model_validate_json(json.dumps(one), strict=True)
        args = workload_args(workload, settings, kbs_url="https://kbs.example:8080", production=True,
                             after=[runtime.ready])
        ConfidentialWorkload("model", args, there)
"""

# Just enough to hold a CcRuntime: what the real schema accepts and refuses is tested where it is made.
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "ccruntimes.confidentialcontainers.org"},
    "spec": {
        "group": "confidentialcontainers.org",
        "scope": "Cluster",
        "names": {"plural": "ccruntimes", "singular": "ccruntime", "kind": "CcRuntime", "listKind": "CcRuntimeList"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@dataclass(frozen=True)
class Trial:
    """A project of the tests' own and the cluster it is deployed to."""

    engine: Engine
    api: ApiClient

    @property
    def core(self) -> Any:
        return client.CoreV1Api(self.api)

    @property
    def custom(self) -> Any:
        return client.CustomObjectsApi(self.api)

    @property
    def runtime_classes(self) -> Any:
        return client.NodeV1Api(self.api)

    def write(self, *, workloads: tuple[Any, ...] = (), runtime: bool = True, **changes: Any) -> None:
        """The stack file: the runtime of the settings tests on node a, quick to give up, with changes."""
        quick = {"nodes": ["a"], "waitTimeout": 30, "deleteTimeout": 30}
        config = {
            "context": self.engine.sandbox.context,
            "runtime": {**RUNTIME, **quick, **changes} if runtime else None,
            "workloads": list(workloads),
        }
        (self.engine.project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {"fence:trial": config}}))

    def cc_runtime(self) -> Any:
        """None if there is none."""
        try:
            return self.custom.get_cluster_custom_object(*CC_RUNTIME)
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def install(self, *nodes: str) -> None:
        """What the operator and its installers do once all is well: labels, status, finalizer, RuntimeClasses."""
        for node in nodes:
            self.core.patch_node(node, {"metadata": {"labels": {INSTALLED_LABEL: "true"}}})
        status = {
            "runtimeClass": ",".join(CLASSES),
            "installationStatus": {"completed": {"completedNodesList": list(nodes)}},
        }
        self.custom.patch_cluster_custom_object_status(*CC_RUNTIME, {"status": status})
        self.custom.patch_cluster_custom_object(*CC_RUNTIME, {"metadata": {"finalizers": [FINALIZER]}})
        for name in CLASSES:
            with suppress(ApiException):
                self.runtime_classes.create_runtime_class({"metadata": {"name": name}, "handler": name})

    def restored(self) -> None:
        """What the operator does once every host is."""
        for node in ("a", "b"):
            self.core.patch_node(node, {"metadata": {"labels": {INSTALLED_LABEL: None}}})
        self.custom.patch_cluster_custom_object(*CC_RUNTIME, {"metadata": {"finalizers": None}})

    def labels(self, node: str) -> dict[str, str]:
        return dict(self.core.read_node(node).metadata.labels)

    def has_user(self) -> bool:
        return any(one.metadata.name == "user" for one in self.core.list_namespaced_config_map("default").items)

    def fails(self, command: Callable[..., Any], *extra: str) -> str:
        """What pulumi says when it does not do it."""
        with pytest.raises(EngineError) as caught:
            command("dev", *extra)
        return caught.value.evidence


@contextmanager
def meanwhile(happens: Callable[[], bool], then: Callable[[], None]) -> Iterator[None]:
    """In the block, as soon as it happens, `then` is done, once."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.3):
            if happens():
                then()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    with sandbox_in(tmp_path_factory.mktemp("cc") / "state", "cc", tools, REPORT) as up:
        yield up


@pytest.fixture(scope="module")
def prepared(cluster: plane.Sandbox) -> Iterator[ApiClient]:
    with client_for(cluster.kubeconfig) as api:
        core: Any = client.CoreV1Api(api)
        extensions: Any = client.ApiextensionsV1Api(api)
        extensions.create_custom_resource_definition(CRD)
        room = {"cpu": "64", "memory": "256Gi", "pods": "50"}
        for name in ("a", "b"):
            node = {
                "metadata": {"name": name, "labels": {"rack": "7"}, "annotations": {"kwok.x-k8s.io/node": "fake"}},
                "status": {"capacity": room, "allocatable": room},
            }
            core.create_node(node)
        yield api


@pytest.fixture
def trial(prepared: ApiClient, cluster: plane.Sandbox, tools: dict[str, Path], tmp_path: Path) -> Iterator[Trial]:
    """Every test begins with nothing deployed, and leaves nothing."""
    project = "name: fence\nruntime:\n  name: python\n  options: {virtualenv: .venv}\n"
    (tmp_path / "Pulumi.yaml").write_text(project)
    (tmp_path / "__main__.py").write_text(PROGRAM)
    (tmp_path / ".venv").symlink_to(places.CHECKOUT / ".venv")
    found = Trial(Engine(cluster, tools, tmp_path, REPORT), prepared)
    yield found
    found.core.delete_collection_namespaced_pod("default", grace_period_seconds=0)
    if found.cc_runtime() is not None:
        found.restored()
    found.engine.destroy("dev", RUN_PROGRAM)
    for name in CLASSES:
        with suppress(ApiException):
            found.runtime_classes.delete_runtime_class(name)


def previewed(trial: Trial, *form: str) -> str:
    done = trial.engine.preview("dev", *form)
    return done.stdout + done.stderr


def deploy(trial: Trial, **changes: Any) -> None:
    trial.write(**changes)
    with meanwhile(lambda: trial.cc_runtime() is not None, lambda: trial.install("a")):
        trial.engine.up("dev")


def test_a_node_that_is_not_there_is_told_in_preview_and_is_not_made(trial: Trial) -> None:
    trial.write(nodes=["a", "nowhere"])
    said = trial.fails(trial.engine.preview)
    assert "node nowhere: there is no such node, and to label it would make one." in said
    assert "node nowhere: there is no such node" in trial.fails(trial.engine.up)
    assert {node.metadata.name for node in trial.core.list_node().items} == {"a", "b"}


def test_who_uses_the_runtime_comes_after_every_node_is_through_and_then_nothing_changes(trial: Trial) -> None:
    trial.write()
    came_early: list[bool] = []

    def install() -> None:
        time.sleep(2)
        came_early.append(trial.has_user())
        trial.install("a")

    with meanwhile(lambda: trial.cc_runtime() is not None, install):
        trial.engine.up("dev")
    assert came_early == [False]
    assert trial.has_user()
    assert trial.labels("a").items() >= {"node.kubernetes.io/worker": "", "rack": "7"}.items()
    assert "node.kubernetes.io/worker" not in trial.labels("b")
    trial.engine.preview("dev", "--expect-no-changes")
    trial.engine.refresh("dev")
    trial.engine.preview("dev", "--expect-no-changes")


def test_an_installation_that_is_not_through_in_time_is_told_and_waited_for_again(trial: Trial) -> None:
    trial.write()
    said = trial.fails(trial.engine.up)
    assert "CcRuntime ccruntime-sample is not ready after 30 s:" in said
    assert "a: the pre-install hook has not finished. Look at its pod of DaemonSet" in said
    assert "the cluster has no RuntimeClass kata-qemu, kata-qemu-coco-dev, kata-qemu-virtcca." in said
    assert "Traceback" not in said
    assert not trial.has_user()
    trial.install("a")
    trial.engine.up("dev")
    assert trial.has_user(), "the second up went on where the first had stopped"


def test_another_node_is_waited_for_without_replacing_anything(trial: Trial) -> None:
    deploy(trial)
    before = trial.cc_runtime()["metadata"]["uid"]
    trial.write(nodes=["a", "b"])
    with meanwhile(lambda: "node.kubernetes.io/worker" in trial.labels("b"), lambda: trial.install("a", "b")):
        trial.engine.up("dev")
    assert trial.cc_runtime()["metadata"]["uid"] == before, "or Kata would have gone from every node"


def test_a_changed_spec_is_shown_as_a_replacement_and_waits_for_pods_and_for_the_operator(trial: Trial) -> None:
    deploy(trial)
    before = trial.cc_runtime()["metadata"]["uid"]
    trial.write(payloadImage="registry.example/other" + DIGEST)
    steps = json.loads(trial.engine.preview("dev", "--json").stdout)["steps"]
    assert [one["urn"].rpartition("::")[2] for one in steps if one["op"] == "replace"] == ["cc-cc-runtime"]
    container = {"name": "c", "image": "registry.example/x"}
    spec = {"runtimeClassName": "kata-qemu-virtcca", "nodeName": "a", "containers": [container]}
    trial.core.create_namespaced_pod("default", {"metadata": {"name": "vm"}, "spec": spec})
    said = trial.fails(trial.engine.up)
    assert "a: pod default/vm still runs in a kata VM. Delete it, or scale" in said
    assert trial.cc_runtime()["metadata"]["uid"] == before, "and nothing was done to it"
    trial.core.delete_namespaced_pod("vm", "default", grace_period_seconds=0)

    order: list[str] = []

    def going() -> bool:
        return "deletionTimestamp" in (trial.cc_runtime() or {"metadata": {}})["metadata"]

    def go_on() -> None:
        order.append(trial.cc_runtime()["metadata"]["uid"])
        trial.restored()
        while (trial.cc_runtime() or {"metadata": {"uid": before}})["metadata"]["uid"] == before:
            time.sleep(0.2)
        order.append(trial.cc_runtime()["metadata"]["uid"])
        trial.install("a")

    with meanwhile(going, go_on):
        trial.engine.up("dev")
    assert order[0] == before, "the old one went first"
    assert trial.cc_runtime()["metadata"]["uid"] == order[1] != before
    assert trial.cc_runtime()["spec"]["config"]["payloadImage"] == "registry.example/other" + DIGEST


def test_another_label_is_on_the_node_once_the_old_one_is_gone(trial: Trial) -> None:
    deploy(trial)
    before = trial.cc_runtime()["metadata"]["uid"]
    trial.write(nodeLabel={"key": "tee"})

    def going() -> bool:
        return "deletionTimestamp" in (trial.cc_runtime() or {"metadata": {}})["metadata"]

    def another() -> bool:
        return bool((trial.cc_runtime() or {"metadata": {"uid": before}})["metadata"]["uid"] != before)

    with meanwhile(going, trial.restored), meanwhile(another, lambda: trial.install("a")):
        trial.engine.up("dev")
    assert trial.labels("a")["tee"] == ""
    assert "node.kubernetes.io/worker" not in trial.labels("a")
    trial.engine.refresh("dev")
    trial.engine.preview("dev", "--expect-no-changes")


def test_a_deletion_that_hangs_ends_in_time_names_the_host_and_leaves_its_label(trial: Trial) -> None:
    deploy(trial)
    said = trial.fails(trial.engine.destroy)
    assert "has delete hooks registered, but the program is not running" in said, "or it would go under running pods"
    uninstalling = {"confidentialcontainers.org/startuninstall": "true"}
    trial.core.patch_node("a", {"metadata": {"labels": uninstalling}})
    said = trial.fails(trial.engine.destroy, RUN_PROGRAM)
    assert "CcRuntime ccruntime-sample is not gone yet:" in said
    assert "a: Kata is not uninstalled. Look at its pod of DaemonSet cc-operator-daemon-uninstall" in said
    assert "node.kubernetes.io/worker" in trial.labels("a"), "the uninstaller runs where the label is"
    trial.core.patch_node("a", {"metadata": {"labels": dict.fromkeys(uninstalling)}})
    trial.restored()
    trial.engine.destroy("dev", RUN_PROGRAM)
    assert trial.labels("a")["rack"] == "7"
    assert "node.kubernetes.io/worker" not in trial.labels("a")


def test_a_runtime_that_has_left_the_stack_file_is_asked_about_too(trial: Trial) -> None:
    deploy(trial)
    trial.restored()
    trial.core.patch_node("a", {"metadata": {"labels": {"confidentialcontainers.org/preinstall": "done"}}})
    trial.write(runtime=False)
    said = trial.fails(trial.engine.up)
    assert "a: its containerd has been changed, and nothing would change it back" in said
    assert trial.cc_runtime() is not None
    trial.core.patch_node("a", {"metadata": {"labels": {"confidentialcontainers.org/preinstall": None}}})
    trial.engine.up("dev")
    assert trial.cc_runtime() is None
    assert "node.kubernetes.io/worker" not in trial.labels("a")


def test_a_change_of_what_is_measured_is_told_in_preview(trial: Trial) -> None:
    workload = {**WORKLOAD, "namespace": "default", "vcpus": 2, "memoryMi": 2048}
    deploy(trial, workloads=(workload,))
    trial.write(workloads=({**workload, "vcpus": 3, "replicas": 2},))
    for form in ((), ("--diff",)):
        said = previewed(trial, *form)
        assert "default/model: reference values must be recomputed, or its new pods get no key." in said
        assert "vcpus: 2 → 3" in said
    trial.write(workloads=({**workload, "replicas": 2},))
    assert "reference values" not in previewed(trial)
    trial.engine.refresh("dev")
    trial.write(workloads=(workload,))
    trial.engine.preview("dev", "--expect-no-changes")
