"""`KbsConfig` on the real engine: what a change will do is in the preview, and is what it then does."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from sandbox import places, plane
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.errors import EngineError
from tests.e2e.conftest import REPORT
from tests.e2e.kbs.operator import CRD, GROUP, PLURAL, VERSION, Operator
from tests.e2e.previews import steps
from tests.sandboxes import sandbox_in

pytestmark = pytest.mark.real

STACK = "test"
NAMESPACE = "default"
SECRET = "never-to-be-seen"
CONFIG = f"kubernetes:{GROUP}/{VERSION}:KbsConfig"


@dataclass(frozen=True)
class Cluster:
    """A control plane with the CRD and a node; the program that deploys to it, and what it deploys."""

    sandbox: plane.Sandbox
    engine: Engine
    wanted: Path

    def want(self, **changes: Any) -> None:
        defaults = {"policy": "package policy\n", "secret": SECRET, "replicas": 1, "timeout": 60, "delete_timeout": 30}
        given = {"context": self.sandbox.context, "namespace": NAMESPACE}
        self.wanted.write_text(json.dumps({**given, **defaults, **changes}))

    def up(self) -> None:
        self.engine.up(STACK)

    def steps(self) -> dict[str, str]:
        return steps(self.engine.preview(STACK, "--json").stdout)

    def operator(self) -> Operator:
        return Operator(self.sandbox.kubeconfig, NAMESPACE)

    def call(self, api_class: str, method: str, *words: str) -> Any:
        with client_for(self.sandbox.kubeconfig) as api:
            return getattr(getattr(client, api_class)(api), method)(*words)

    def kbs_config(self) -> Any:
        return self.call(
            "CustomObjectsApi", "get_namespaced_custom_object", GROUP, VERSION, NAMESPACE, PLURAL, "kbsconfig"
        )

    def secret(self) -> Any:
        return self.call("CoreV1Api", "read_namespaced_secret", "tenant-a", NAMESPACE)

    def deployment(self) -> Any:
        return self.call("AppsV1Api", "read_namespaced_deployment", "trustee-deployment", NAMESPACE)

    def config_maps(self) -> set[str]:
        return {one.metadata.name for one in self.call("CoreV1Api", "list_namespaced_config_map", NAMESPACE).items}


@pytest.fixture(scope="module")
def cluster(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    project, wanted = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("wanted") / "kbs.json"
    with (
        pytest.MonkeyPatch.context() as patch,
        sandbox_in(tmp_path_factory.mktemp("state"), "kbs", tools, REPORT) as sandbox,
    ):
        patch.setenv("KBS_TEST", str(wanted))
        with client_for(sandbox.kubeconfig) as api:
            extensions: Any = client.ApiextensionsV1Api(api)
            extensions.create_custom_resource_definition(CRD)
            room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
            node = {"metadata": {"name": "node"}, "status": {"allocatable": room, "capacity": room}}
            core: Any = client.CoreV1Api(api)
            core.create_node(node)
        (project / "Pulumi.yaml").write_text("name: kbs-test\nruntime: {name: python, options: {virtualenv: .venv}}\n")
        (project / f"Pulumi.{STACK}.yaml").write_text("config: {}\n")
        (project / ".venv").symlink_to(places.CHECKOUT / ".venv")
        shutil.copyfile(Path(__file__).parent / "kbs" / "program.py", project / "__main__.py")
        yield Cluster(sandbox, Engine(sandbox, tools, project, REPORT), wanted)


@pytest.fixture
def deployed(cluster: Cluster) -> Iterator[Cluster]:
    """A KBS that is available; each test starts from the same one."""
    cluster.want()
    with cluster.operator():
        cluster.up()
        yield cluster


def test_an_up_without_an_operator_fails_in_time_and_says_where_to_look_and_fails_again(cluster: Cluster) -> None:
    """The KbsConfig is there after the first, so the second one has only the wait left to do."""
    cluster.want(timeout=3)
    for _ in range(2):
        with pytest.raises(EngineError) as caught:
            cluster.up()
        said = str(caught.value) + str(caught.value.evidence)
        assert "The KBS was not available after 3 s: there is no Deployment trustee-deployment." in said
        assert "logs deployment/trustee-operator-controller-manager" in said
        assert "Traceback" not in said


def test_once_it_is_up_nothing_is_left_to_do_also_after_a_refresh(deployed: Cluster) -> None:
    assert deployed.deployment().status.available_replicas == 1, "up has waited for it"
    deployed.engine.preview(STACK, "--expect-no-changes")
    deployed.engine.refresh(STACK)
    deployed.engine.preview(STACK, "--expect-no-changes")


def test_another_policy_is_another_config_map_to_which_the_kbs_config_turns(deployed: Cluster) -> None:
    before = deployed.kbs_config()
    deployed.want(policy="package policy\n\ndefault allow := false\n")
    assert deployed.steps() == {
        "kbs-resource-policy": "replace",
        "kbs-custom-resource": "update",
        "kbs-ready": "update",
    }
    deployed.up()
    after = deployed.kbs_config()
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "updated and not replaced: the KBS stays reachable"
    old, new = (one["spec"]["kbsResourcePolicyConfigMapName"] for one in (before, after))
    assert old != new, "a change of content alone rolls no pod"
    assert new in deployed.config_maps()
    assert old not in deployed.config_maps(), "removed once the KBS has turned to the other"
    assert new in str(deployed.deployment().spec.template.spec.volumes), "up has waited for the KBS to turn to it"
    deployed.engine.preview(STACK, "--expect-no-changes")


def test_a_tenants_secret_is_changed_where_it_is(deployed: Cluster) -> None:
    before = deployed.secret()
    deployed.want(secret="another value")
    assert deployed.steps() == {"kbs/tenant-a": "update"}, (
        "its name is part of a URI, and without it no tenant gets one"
    )
    deployed.up()
    after = deployed.secret()
    assert after.metadata.uid == before.metadata.uid
    assert after.data != before.data


def test_more_replicas_replace_the_kbs_config_because_the_operator_looks_once(deployed: Cluster) -> None:
    before = deployed.kbs_config()
    deployed.want(replicas=2)
    assert deployed.steps() == {"kbs-custom-resource": "replace", "kbs-ready": "update"}
    deployed.up()
    assert deployed.kbs_config()["metadata"]["uid"] != before["metadata"]["uid"]
    assert deployed.deployment().status.available_replicas == 2


def test_no_secret_is_in_the_output_the_plan_or_the_state(deployed: Cluster) -> None:
    import base64

    said = [
        deployed.engine.preview(STACK, "--diff").stdout,
        deployed.engine.preview(STACK, "--json").stdout,
        deployed.engine.run(["stack", "export"], stack=STACK).stdout,
    ]
    deployed.want(secret=f"{SECRET}-too")
    said.append(deployed.engine.preview(STACK, "--diff").stdout)
    for text in said:
        assert SECRET not in text
        assert base64.b64encode(SECRET.encode()).decode().rstrip("=") not in text


def test_destroy_where_someone_deleted_the_deployment_says_the_way_out_and_that_is_one(cluster: Cluster) -> None:
    """The operator deletes it before it lets go of the KbsConfig, and cannot where it is not there."""
    cluster.want(delete_timeout=5)
    with cluster.operator():
        cluster.up()
    cluster.call("AppsV1Api", "delete_namespaced_deployment", "trustee-deployment", NAMESPACE)
    operator = cluster.operator()
    operator.finalizes_only = True
    with operator, pytest.raises(EngineError) as caught:
        cluster.engine.destroy(STACK, "--run-program")
    said = str(caught.value) + str(caught.value.evidence)
    assert "The KbsConfig is not gone yet:" in said
    assert f"kubectl -n {NAMESPACE} patch kbsconfig kbsconfig --type merge -p" in said
    with client_for(cluster.sandbox.kubeconfig) as api:
        objects: Any = client.CustomObjectsApi(api)
        objects.patch_namespaced_custom_object(
            GROUP, VERSION, NAMESPACE, PLURAL, "kbsconfig", {"metadata": {"finalizers": None}}
        )
    cluster.engine.destroy(STACK)


def test_destroy_ends_in_time_where_the_operator_is_gone_and_goes_on_once_it_is_back(cluster: Cluster) -> None:
    cluster.want()
    with cluster.operator():
        cluster.up()
    cluster.want(delete_timeout=5)
    with cluster.operator():
        cluster.up()
    started = time.monotonic()
    with pytest.raises(EngineError):
        cluster.engine.destroy(STACK)
    assert time.monotonic() - started < 150, "the finalizer holds it for ever"
    assert cluster.config_maps() - {"kube-root-ca.crt"}, "what it names stays as long as it does"
    with cluster.operator():
        cluster.engine.destroy(STACK)
    assert cluster.config_maps() == {"kube-root-ca.crt"}
