"""Both operators by a real engine on a real API server: they come up, settle and go; and what their CRDs take."""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from components.crds import core_types
from components.crds.definitions import GROUP
from sandbox import nodes, places
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.errors import EngineError
from sandbox.plane import Sandbox
from settings.servers import find_server
from tests.components import custom_resources as table
from tests.components.operators import UPDATE
from tests.e2e.conftest import REPORT
from tests.sandboxes import sandbox_in
from topology.profiles import OPENFUYAO

pytestmark = pytest.mark.real

PROGRAM = Path(__file__).parent / "operators"
NAMESPACES = {"confidential-containers-system", "trustee-operator-system"}
IMAGE = "registry.example/kbs@sha256:" + "0" * 64
COMMON = {"protect": False, "imagePullSecrets": ["registry"], "availableWithin": 60}
WORKLOAD = {**COMMON, "tolerations": [{"key": "npu", "operator": "Exists", "effect": "NoSchedule"}]}
# Unlike what a user would have, it is in the stack file in the clear, and may appear nowhere else.
PASSWORD = "c2VjcmV0OnNlY3JldA"
CREDENTIALS = {"auths": {"registry.example": {"auth": PASSWORD}}}
TRUSTED = {**COMMON, "images": {"kbs": IMAGE, "kbsMicroservices": IMAGE, "as": IMAGE, "rvps": IMAGE}}


@pytest.fixture(scope="module")
def sandbox(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One of its own, with a single node."""
    with sandbox_in(tmp_path_factory.mktemp("operators"), "operators", tools, REPORT) as up:
        with client_for(up.kubeconfig) as api:
            nodes.publish(api, [find_server("310p3")], OPENFUYAO)
        yield up


def project(sandbox: Sandbox, tools: dict[str, Path], folder: Path, **changed: Any) -> Engine:
    """The program with a stack file of its own."""
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".venv").symlink_to(places.CHECKOUT / ".venv")
    settings = {"workload": WORKLOAD, "trusted": TRUSTED, "credentials": CREDENTIALS} | changed
    config = {f"operators:{key}": json.dumps(value) for key, value in settings.items()}
    config["operators:context"] = sandbox.context
    (folder / "Pulumi.dev.yaml").write_text(
        yaml.safe_dump({"config": {"pulumi:disable-default-providers": ["kubernetes"], **config}})
    )
    return Engine(sandbox, tools, folder, REPORT)


@pytest.fixture(scope="module")
def engine(sandbox: Sandbox, tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The stack, which is up."""
    made = project(sandbox, tools, tmp_path_factory.mktemp("program"))
    made.up("dev")
    return made


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[ApiClient]:
    with client_for(sandbox.kubeconfig) as found:
        yield found


@pytest.fixture(scope="module")
def served(engine: Engine, sandbox: Sandbox) -> Iterator[ApiClient]:
    """A client for when both CRDs are there."""
    with client_for(sandbox.kubeconfig) as found:
        yield found


@dataclass(frozen=True)
class Kind:
    """One of the two, with what the tables of tests/components/custom_resources.py say of it."""

    name: str
    version: str
    plural: str
    namespace: str | None
    fields: Mapping[str, str]
    required: set[str]
    enums: Mapping[str, list[str]]

    def example(self) -> dict[str, Any]:
        """The spec with every field."""
        whole = table.example(self.fields, self.enums)
        return {"spec": whole["spec"]}

    def create(self, api: ApiClient, content: Mapping[str, Any], **how: Any) -> dict[str, Any]:
        """What the server makes of it; ApiException where it refuses."""
        body = {
            "apiVersion": f"{GROUP}/{self.version}",
            "kind": self.name,
            "metadata": {"name": "example"},
            **content,
        }
        objects: Any = client.CustomObjectsApi(api)
        how = {"dry_run": "All", "field_validation": "Strict"} | how
        if self.namespace:
            found = objects.create_namespaced_custom_object(
                GROUP, self.version, self.namespace, self.plural, body, **how
            )
        else:
            found = objects.create_cluster_custom_object(GROUP, self.version, self.plural, body, **how)
        return dict(found)

    def refusal(self, api: ApiClient, content: Mapping[str, Any]) -> str:
        """The reason of the server; a test that gets none fails."""
        with pytest.raises(ApiException) as caught:
            self.create(api, content)
        assert caught.value.status in {400, 422}
        return str(caught.value.body)


CC = Kind(
    "CcRuntime",
    "v1beta1",
    "ccruntimes",
    None,
    table.CC_RUNTIME,
    table.CC_RUNTIME_REQUIRED,
    table.CC_RUNTIME_ENUMS,
)
KBS = Kind(
    "KbsConfig",
    "v1alpha1",
    "kbsconfigs",
    "default",
    table.KBS_CONFIG,
    table.KBS_CONFIG_REQUIRED,
    table.KBS_CONFIG_ENUMS,
)
KINDS = [CC, KBS]


def in_spec(kind: Kind, paths: Iterable[str]) -> list[Any]:
    return [pytest.param(kind, path, id=f"{kind.name} {path}") for path in sorted(paths) if path.startswith("spec.")]


def test_kubernetes_own_types_are_those_that_the_api_server_publishes(sandbox: Sandbox, api: ApiClient) -> None:
    """RINGFENCE_UPDATE_GOLDEN=1 writes core_types.json anew."""
    rest: Any = api.rest_client
    answer = rest.request("GET", f"{sandbox.server}/openapi/v3/api/v1")
    text = core_types.written(core_types.from_openapi(json.loads(answer.read() if not answer.data else answer.data)))
    if os.environ.get(UPDATE):
        core_types.FILE.write_text(text)
    assert text == core_types.FILE.read_text(), "a field that is new is also one that the operator does not know"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_server_takes_every_field_and_keeps_it(served: ApiClient, kind: Kind) -> None:
    assert kind.create(served, kind.example())["spec"] == kind.example()["spec"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_field_that_does_not_exist_is_dropped_and_refused_where_one_asks_for_that(
    served: ApiClient, kind: Kind
) -> None:
    content = kind.example()
    content["spec"]["kbsEnvVars"] = {"A": "b"}
    assert "unknown field" in kind.refusal(served, content)
    assert "kbsEnvVars" not in kind.create(served, content, field_validation="Ignore")["spec"]


@pytest.mark.parametrize(
    ("kind", "path"), [*in_spec(CC, table.CC_RUNTIME_REQUIRED), *in_spec(KBS, table.KBS_CONFIG_REQUIRED)]
)
def test_what_is_demanded_cannot_be_left_out(served: ApiClient, kind: Kind, path: str) -> None:
    content = kind.example()
    table.take(content, path)
    assert f"{path.replace('[]', '[0]')}: Required value" in message(kind.refusal(served, content))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *in_spec(CC, table.CC_RUNTIME.keys() - table.CC_RUNTIME_REQUIRED),
        *in_spec(KBS, table.KBS_CONFIG.keys() - table.KBS_CONFIG_REQUIRED),
    ],
)
def test_everything_else_can(served: ApiClient, kind: Kind, path: str) -> None:
    content = kind.example()
    table.take(content, path)
    assert kind.create(served, content)


@pytest.mark.parametrize(("kind", "path"), [*in_spec(CC, table.CC_RUNTIME), *in_spec(KBS, table.KBS_CONFIG)])
def test_a_value_of_another_type_is_refused(served: ApiClient, kind: Kind, path: str) -> None:
    content = kind.example()
    table.put(content, path, 1 if kind.fields[path] != "integer" else "1")
    assert f"{path.replace('[]', '[0]')}: Invalid value" in message(kind.refusal(served, content))


@pytest.mark.parametrize(
    ("kind", "path"), [*in_spec(CC, table.CC_RUNTIME_ENUMS), *in_spec(KBS, table.KBS_CONFIG_ENUMS)]
)
def test_closed_sets_are_closed(served: ApiClient, kind: Kind, path: str) -> None:
    for value in kind.enums[path]:
        content = kind.example()
        table.put(content, path, value)
        assert kind.create(served, content)
    table.put(content, path, "another")
    assert f"{path}: Unsupported value" in message(kind.refusal(served, content))


ACCEPTED: list[Any] = [
    (CC, "spec.ccNodeSelector", None, "null is how upstream's own samples could leave it"),
    (CC, "spec.config.imagePullPolicy", "Sometimes", "no closed set there"),
    (CC, "spec.config.installDoneLabel", {"a": "b", "c": "d"}, "that there has to be one is known to the code alone"),
    (CC, "spec.config.runtimeClasses", [{"name": "", "snapshotter": "", "pulltype": ""}], "empty is allowed"),
    (CC, "spec.config.imagePullSecret", {"name": "registry"}, ""),
    (CC, "spec.config.installerVolumes", [{"name": "x", "emptyDir": {"sizeLimit": "1Gi"}}], "a quantity as text"),
    (CC, "spec.config.installerVolumes", [{"name": "x", "emptyDir": {"sizeLimit": 1024}}], "a quantity as a number"),
    (KBS, "spec.kbsServiceType", "Anything", "no closed set there"),
    (KBS, "spec.KbsDeploymentSpec.replicas", -1, "no minimum there"),
]
REFUSED: list[Any] = [
    (CC, "spec.ccTolerations", [{"tolerationSeconds": 1.5}], "spec.ccTolerations[0].tolerationSeconds"),
    (CC, "spec.config.debug", "true", "spec.config.debug"),
    (CC, "spec.config.installDoneLabel", {"a": True}, "spec.config.installDoneLabel.a"),
    (CC, "spec.config.environmentVariables", [{"value": "a"}], "spec.config.environmentVariables[0].name"),
    (CC, "spec.config.installerVolumeMounts", [{"name": "a"}], "spec.config.installerVolumeMounts[0].mountPath"),
    (CC, "spec.config.installerVolumes", [{"hostPath": {"path": "/"}}], "spec.config.installerVolumes[0].name"),
    (CC, "spec.config.preInstall.volumes", [{"name": "a", "hostPath": {}}], "spec.config.preInstall.volumes[0]"),
    (CC, "spec.config.installerVolumes", [{"name": "x", "emptyDir": {"sizeLimit": "much"}}], "sizeLimit"),
    (KBS, "spec.KbsEnvVars", {"A": 1}, "spec.KbsEnvVars.A"),
    (KBS, "spec.kbsSecretResources", [1], "spec.kbsSecretResources[0]"),
    (KBS, "spec.KbsDeploymentSpec.replicas", 2**31, "spec.KbsDeploymentSpec.replicas"),
]


@pytest.mark.parametrize(("kind", "path", "value", "why"), ACCEPTED)
def test_what_the_real_one_leaves_open_is_open(served: ApiClient, kind: Kind, path: str, value: Any, why: str) -> None:
    content = kind.example()
    table.put(content, path, value)
    assert kind.create(served, content), why


@pytest.mark.parametrize(("kind", "path", "value", "named"), REFUSED)
def test_what_the_real_one_refuses_is_refused(served: ApiClient, kind: Kind, path: str, value: Any, named: str) -> None:
    content = kind.example()
    table.put(content, path, value)
    assert named in message(kind.refusal(served, content))


def test_a_name_that_is_left_out_of_a_pull_secret_is_kept_as_empty(served: ApiClient) -> None:
    content = CC.example()
    content["spec"]["config"]["imagePullSecret"] = {}
    assert CC.create(served, content)["spec"]["config"]["imagePullSecret"] == {"name": ""}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_status_is_a_subresource_with_every_field(served: ApiClient, kind: Kind) -> None:
    whole = table.example(kind.fields, kind.enums)
    objects: Any = client.CustomObjectsApi(served)
    made = kind.create(served, whole, dry_run=None)
    where = [GROUP, kind.version, *([kind.namespace] if kind.namespace else []), kind.plural, "example"]
    scope = "namespaced" if kind.namespace else "cluster"
    try:
        assert "status" not in made, "whoever writes the object does not write its status"
        replace = getattr(objects, f"replace_{scope}_custom_object_status")
        assert replace(*where, made | {"status": whole["status"]})["status"] == whole["status"]
        read = getattr(objects, f"get_{scope}_custom_object")(*where)
        for path in sorted(path for path in kind.required if path.startswith("status.")):
            lacking = {"status": copy.deepcopy(whole["status"])}
            table.take(lacking, path)
            with pytest.raises(ApiException, match="Required value"):
                replace(*where, read | lacking)
    finally:
        getattr(objects, f"delete_{scope}_custom_object")(*where)


def message(body: str) -> str:
    return str(json.loads(body)["message"])


def test_a_second_up_changes_nothing_also_after_a_refresh(engine: Engine) -> None:
    engine.preview("dev", "--expect-no-changes")
    engine.refresh("dev", "--expect-no-changes")
    engine.preview("dev", "--expect-no-changes")


def test_both_managers_are_available(engine: Engine, api: ApiClient) -> None:
    apps: Any = client.AppsV1Api(api)
    for namespace in NAMESPACES:
        (found,) = apps.list_namespaced_deployment(namespace).items
        assert found.status.available_replicas == 1, f"nothing is to be made before that of {namespace} is"


def test_the_crds_carry_no_copy_of_themselves(served: ApiClient) -> None:
    extensions: Any = client.ApiextensionsV1Api(served)
    for kind in KINDS:
        found = extensions.read_custom_resource_definition(f"{kind.plural}.{GROUP}")
        annotations = found.metadata.annotations or {}
        assert "kubectl.kubernetes.io/last-applied-configuration" not in annotations, "upstream's would be too long"


def test_credentials_are_in_the_cluster_and_neither_in_the_state_nor_in_a_preview(
    engine: Engine, api: ApiClient, sandbox: Sandbox, tools: dict[str, Path], tmp_path: Path
) -> None:
    core: Any = client.CoreV1Api(api)
    kept = core.read_namespaced_secret("made", "confidential-containers-system").data[".dockerconfigjson"]
    assert json.loads(base64.b64decode(kept)) == CREDENTIALS
    other = project(sandbox, tools, tmp_path, credentials={"auths": {"registry.example": {"auth": "b3RoZXI6b3RoZXI"}}})
    said = other.preview("dev", "--diff").stdout
    assert "made" in said, "it shows that there is a change"
    state = engine.run(["stack", "export"], stack="dev").stdout
    assert "cc-operator-made" in state, "else nothing was looked at"
    for text in (said, state):
        for secret in (PASSWORD, "b3RoZXI6b3RoZXI", kept):
            assert secret not in text


def pull_secrets(api: ApiClient) -> list[str]:
    core: Any = client.CoreV1Api(api)
    found = core.read_namespaced_service_account("default", "trustee-operator-system")
    return [reference.name for reference in found.image_pull_secrets or []]


def test_the_key_brokers_account_gets_the_pull_secret_and_gives_it_back(
    engine: Engine, sandbox: Sandbox, tools: dict[str, Path], api: ApiClient, tmp_path: Path
) -> None:
    """Kubernetes makes the account at some moment after its namespace; here it has been both earlier and later."""
    assert pull_secrets(api) == ["registry"]
    project(sandbox, tools, tmp_path, trusted={**TRUSTED, "imagePullSecrets": []}).up("dev")
    try:
        assert pull_secrets(api) == [], "the field was the stack's, the account is not"
    finally:
        engine.up("dev")
    assert pull_secrets(api) == ["registry"]


def test_an_operator_that_never_starts_ends_the_run_and_is_named(
    engine: Engine, sandbox: Sandbox, tools: dict[str, Path], tmp_path: Path
) -> None:
    impossible = {"key": "gone", "operator": "Exists"}
    nowhere = {**WORKLOAD, "resources": {"requests": {"cpu": "4000"}, "limits": {"cpu": "4000"}}, "availableWithin": 8}
    broken = project(sandbox, tools, tmp_path, workload=nowhere | {"tolerations": [impossible]})
    try:
        with pytest.raises(EngineError) as caught:
            broken.up("dev")
        assert "cc-operator-deployment" in str(caught.value) + caught.value.evidence
    finally:
        engine.up("dev")


def test_destroying_leaves_nothing(engine: Engine, api: ApiClient) -> None:
    """The last test: it takes the stack down."""
    engine.destroy("dev")
    core: Any = client.CoreV1Api(api)
    rbac: Any = client.RbacAuthorizationV1Api(api)
    extensions: Any = client.ApiextensionsV1Api(api)
    assert not NAMESPACES & {one.metadata.name for one in core.list_namespace().items}
    roles = [*rbac.list_cluster_role().items, *rbac.list_cluster_role_binding().items]
    assert not [one.metadata.name for one in roles if "-operator-" in one.metadata.name]
    assert not [one for one in extensions.list_custom_resource_definition().items if one.spec.group == GROUP]
