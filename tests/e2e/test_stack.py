"""`pulumi up` of the dev stack settles: nothing to do the second time, nor after a refresh."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from sandbox import places
from sandbox.engine import Engine
from tests.e2e.conftest import REPORT, Deployed

pytestmark = pytest.mark.real


def test_a_second_up_changes_nothing_also_after_a_refresh(deployed: Deployed) -> None:
    deployed.engine.preview("dev", "--expect-no-changes")
    deployed.engine.refresh("dev")
    deployed.engine.preview("dev", "--expect-no-changes")


def test_the_stack_exports_where_each_template_is(deployed: Deployed) -> None:
    exported = deployed.engine.outputs("dev")["templates"]
    names = {template.name for _, templates in deployed.plan.templates for template in templates}
    assert {name.split("/")[-1] for name in exported} == names


def test_what_the_cluster_keeps_is_what_was_compiled(deployed: Deployed) -> None:
    """An API server drops fields of gates that are off without a word, so it is read back."""
    with deployed.api() as api:
        listed = client.ResourceV1Api(api).list_namespaced_resource_claim_template("jobs")
        kept = {
            item["metadata"]["name"]: item["spec"]["spec"] for item in api.sanitize_for_serialization(listed)["items"]
        }
    for _, templates in deployed.plan.templates:
        for template in templates:
            assert json.dumps(kept[template.name], sort_keys=True) == json.dumps(template.spec, sort_keys=True)


def changed(deployed: Deployed, folder: Path, old: str, new: str) -> Engine:
    """The project with one change in its stack file, against the same stack."""
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "__main__.py"):
        shutil.copyfile(places.CHECKOUT / name, folder / name)
    (folder / ".venv").symlink_to(places.CHECKOUT / ".venv")
    file = folder / "Pulumi.dev.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    return Engine(deployed.up.sandbox, deployed.up.tools, folder, REPORT)


def templates_in_cluster(deployed: Deployed) -> dict[str, Any]:
    with deployed.api() as api:
        resource: Any = client.ResourceV1Api(api)
        listed = resource.list_namespaced_resource_claim_template("jobs").items
        return {item.metadata.name: item for item in listed}


def test_a_changed_template_is_shown_as_a_replacement_and_is_one(deployed: Deployed, tmp_path: Path) -> None:
    """The spec is immutable, which the provider does not know: an update would be previewed and then refused."""
    engine = changed(deployed, tmp_path, "profile: openfuyao", "profile: openfuyao-standard-numa")
    steps = json.loads(engine.preview("dev", "--json").stdout)["steps"]
    replaced = {step["urn"].rpartition("/")[2] for step in steps if step["op"] == "replace"}
    numa = {t.name for _, ts in deployed.plan.templates for t in ts if "numaNode" in json.dumps(t.spec)}
    assert replaced == numa, "those that match the NUMA node, and no other"
    before = templates_in_cluster(deployed)
    try:
        engine.up("dev")
        after = templates_in_cluster(deployed)
        assert {name for name in after if after[name].metadata.uid != before[name].metadata.uid} == numa
    finally:
        deployed.engine.up("dev")
    deployed.engine.preview("dev", "--expect-no-changes")


def test_a_wrong_stack_file_ends_with_its_key_and_no_traceback(deployed: Deployed, tmp_path: Path) -> None:
    engine = changed(deployed, tmp_path, "namespaces: [jobs]", "namespace: [jobs]")
    done = engine.preview("dev", check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "namespaces" in said
    assert "Traceback" not in said


def test_the_driver_runs_on_every_simulated_server(deployed: Deployed) -> None:
    with deployed.api() as api:
        apps: Any = client.AppsV1Api(api)
        (found,) = apps.list_namespaced_daemon_set("npu-dra-driver").items
    assert found.status.desired_number_scheduled == len(deployed.plan.servers), "a DaemonSet without nodes is ready too"
    assert found.status.number_ready == found.status.desired_number_scheduled


@pytest.mark.parametrize(
    ("node", "allowed"), [("box16", True), ("310p3", False), (None, False)], ids=["its own", "another's", "no node"]
)
def test_a_driver_may_write_the_slices_of_its_own_node_only(
    deployed: Deployed, node: str | None, allowed: bool
) -> None:
    """Asked of the API server as the driver's ServiceAccount, with the node name that its token would carry."""
    body = {
        "metadata": {"name": "try-fence"},
        "spec": {
            "driver": "npu.huawei.com",
            "nodeName": "box16",
            "pool": {"name": "try-fence", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "npu-0"}],
        },
    }
    with deployed.api() as api:
        api.set_default_header("Impersonate-User", "system:serviceaccount:npu-dra-driver:npu-dra-plugin")
        if node is not None:
            api.set_default_header("Impersonate-Extra-authentication.kubernetes.io%2Fnode-name", node)
        resource: Any = client.ResourceV1Api(api)
        refused: Any = None
        try:
            resource.create_resource_slice(body, dry_run="All")
        except client.ApiException as error:
            refused = error
    assert (refused is None) == allowed, f"the driver of {node} on a slice of box16: {refused}"
    if refused is not None:
        assert refused.status == 403
        assert "npu-dra-plugin-own-slices" in refused.body, "refused by the policy, not for want of a right"
