"""The production stack on two clusters: it comes up, changes as its previews say, settles, and goes down.

The operators are the stand-ins of sandbox.standin, which do what the real ones were read to do; no VM and no TEE runs.
The tests build on each other, in this order.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from kubernetes import client

from sandbox.standin.behaviour import CcBehaviour, KbsBehaviour
from tests.e2e.conftest import Pair
from tests.e2e.production import HOST, RUN_PROGRAM, SECRET, TEAMS, Production, prepare, unprotected

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

TRUSTEE = "trustee-operator-system"
WORKER = "node.kubernetes.io/worker"
SCORER = "inference/scorer-deployment"
RIM_NOTICE = "reference values"


@pytest.fixture(scope="module")
def production(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Production:
    made = prepare(pair, tmp_path_factory.mktemp("production"))
    made.up()
    return made


def labelled(production: Production) -> set[str]:
    return {name for name, labels in production.node_labels().items() if WORKER in labels}


def test_the_runtime_is_on_every_labelled_node_before_a_workload_starts(production: Production) -> None:
    status = production.cc_runtime()["status"]["installationStatus"]
    assert (
        set(status["completed"]["completedNodesList"]) == labelled(production) == {"confidential-0", "confidential-1"}
    )
    assert "kata-qemu-virtcca" in production.names("workload", "NodeV1Api", "list_runtime_class")
    scorer = production.deployment("workload", "inference", "scorer")
    assert scorer.status.available_replicas == 1


def test_the_key_broker_runs_on_the_trusted_cluster_only(production: Production) -> None:
    found = production.deployment("trusted", TRUSTEE, "trustee-deployment")
    assert found.status.ready_replicas == 1
    (container,) = found.spec.template.spec.containers
    assert container.image.startswith("registry.example.com/coco/kbs-built-in-as@sha256:"), (
        "the image of the stack file"
    )
    assert TRUSTEE not in production.names("workload", "CoreV1Api", "list_namespace")


def test_nothing_is_left_to_do_also_after_a_refresh(production: Production) -> None:
    """The operators write labels, finalizers, defaults and status into what the stack has declared."""
    production.settles()


def test_no_secret_is_in_a_preview_or_in_the_clear_in_the_state(production: Production) -> None:
    production.set_secret("model-key", SECRET + "-two")
    steps, said = production.preview()
    assert steps == {"kbs/model": "update"}, "in place: its name is part of the address by which guests ask for it"
    assert SECRET not in said
    assert base64.b64encode(SECRET.encode()).decode()[:20] not in said
    production.up()
    with production.trusted() as api:
        core: Any = client.CoreV1Api(api)
        held = core.read_namespaced_secret("model", TRUSTEE).data["key"]
    assert base64.b64decode(held).decode() == SECRET + "-two"
    state = production.engine.run(["stack", "export"], stack="prod").stdout
    assert SECRET not in state
    assert base64.b64encode(SECRET.encode()).decode()[:20] not in state


def test_another_node_is_labelled_and_waited_for_and_no_other_is_touched(production: Production) -> None:
    before = production.cc_runtime()["metadata"]["uid"]
    production.change(ccRuntime__nodes=["confidential-0", "confidential-1", "confidential-2"])
    steps, _ = production.preview()
    assert steps == {"cc-runtime-confidential-2": "create", "cc-runtime-ready": "update"}
    production.pair.standin.behave(cc=CcBehaviour(install="slow", seconds=3))
    production.up()
    production.pair.standin.behave(cc=CcBehaviour())
    assert production.node_labels()["confidential-2"]["katacontainers.io/kata-runtime"] == "true"
    assert production.cc_runtime()["metadata"]["uid"] == before


def test_a_changed_policy_rolls_the_key_broker(production: Production) -> None:
    """A change of a mounted ConfigMap's content would reach nobody: it is another ConfigMap."""
    before = production.kbs_config()["spec"]["kbsResourcePolicyConfigMapName"]
    production.change(kbs__resourcePolicy={"kind": "denyAll"})
    steps, _ = production.preview()
    assert steps == {"kbs-resource-policy": "replace", "kbs-custom-resource": "update", "kbs-ready": "update"}
    production.up()
    after = production.kbs_config()["spec"]["kbsResourcePolicyConfigMapName"]
    assert after != before
    volumes = production.deployment("trusted", TRUSTEE, "trustee-deployment").spec.template.spec.volumes
    assert after in {one.config_map.name for one in volumes if one.config_map}
    production.settles()


def test_a_changed_kernel_parameter_rolls_the_workload_and_says_what_to_recompute(production: Production) -> None:
    production.change(workloads__0__kernelParams={"quiet": ""})
    steps, said = production.preview()
    assert steps == {SCORER: "update"}
    assert RIM_NOTICE in said
    production.up()
    scorer = production.deployment("workload", "inference", "scorer")
    annotations = scorer.spec.template.metadata.annotations
    assert "quiet" in annotations["io.katacontainers.config.hypervisor.kernel_params"]


def test_another_address_of_the_key_broker_changes_every_guest(production: Production) -> None:
    production.change(kbs__address={"host": HOST, "port": 8443})
    steps, said = production.preview()
    assert steps == {SCORER: "update"}, "the address is in the guest's command line and nowhere else"
    assert RIM_NOTICE in said
    production.up()
    scorer = production.deployment("workload", "inference", "scorer")
    assert f"cc_kbc::https://{HOST}:8443" in str(scorer.spec.template.metadata.annotations)


def test_a_changed_image_replaces_the_runtime_which_no_update_could(production: Production) -> None:
    before = production.cc_runtime()
    shipped = production.value("ccRuntime__payloadImage")
    image = "registry.example.com/coco/kata-deploy@sha256:" + "9" * 64
    production.change(ccRuntime__payloadImage=image)
    steps, said = production.preview()
    assert steps["cc-runtime-cc-runtime"] == "replace"
    assert RIM_NOTICE in said, "guest kernel and QEMU come with the payload"
    refused = production.failing("up")
    assert "inference/scorer" in refused, "its pod runs in a VM of the runtime that would be taken away"
    # As its message says: first the pods, then the runtime.
    production.change(ccRuntime__payloadImage=shipped, workloads__0__replicas=0)
    production.up()
    production.change(ccRuntime__payloadImage=image)
    production.up()
    after = production.cc_runtime()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    with production.workload() as api:
        apps: Any = client.AppsV1Api(api)
        daemon_set = apps.read_namespaced_daemon_set("cc-operator-daemon-install", "confidential-containers-system")
    assert daemon_set.spec.template.spec.containers[0].image == image
    production.change(workloads__0__replicas=1)
    production.up()
    production.settles()


def test_a_key_broker_that_never_starts_fails_the_update_and_the_next_one_too(production: Production) -> None:
    production.pair.standin.behave(kbs=KbsBehaviour(start="hanging"))
    production.change(kbs__readyTimeout=10, kbs__resourcePolicy={"kind": "affirming"})
    for _ in range(2):
        assert "The KBS was not available after 10 s" in production.failing("up")
    production.pair.standin.behave(kbs=KbsBehaviour())
    production.change(kbs__readyTimeout=60)
    production.up()
    production.settles()


def test_an_install_that_fails_or_never_ends_is_told_with_its_node_and_goes_on_when_it_can(
    production: Production,
) -> None:
    production.change(ccRuntime__nodes=["confidential-0", "confidential-1"], ccRuntime__waitTimeout=30)
    production.up()
    with production.workload() as api:
        # What a fresh host has: none of the installers' marks.
        labels = {
            "katacontainers.io/kata-runtime": None,
            "confidentialcontainers.org/preinstall": None,
        }
        client.CoreV1Api(api).patch_node("confidential-2", {"metadata": {"labels": labels}})
    production.change(ccRuntime__nodes=["confidential-0", "confidential-1", "confidential-2"])
    bad = frozenset({"confidential-2"})
    for behaviour in (CcBehaviour(install="failing", nodes=bad), CcBehaviour(install="hanging", nodes=bad)):
        production.pair.standin.behave(cc=behaviour)
        said = production.failing("up")
        assert "is not ready after 30 s" in said
        assert "confidential-2" in said
    production.pair.standin.behave(cc=CcBehaviour())
    production.up()
    production.settles()


def test_protected_namespaces_and_running_vms_keep_a_destroy_from_happening(production: Production) -> None:
    assert "protected" in production.failing("destroy", RUN_PROGRAM)
    assert labelled(production), "nothing has been taken away"
    unprotected(production)
    production.up()
    with production.workload() as api:
        core: Any = client.CoreV1Api(api)
        core.create_namespaced_pod(
            "inference",
            {
                "metadata": {"name": "stranger"},
                "spec": {
                    "runtimeClassName": "kata-qemu-virtcca",
                    "nodeName": "confidential-0",
                    "containers": [{"name": "main", "image": "registry.example/main:1"}],
                    "tolerations": [{"operator": "Exists"}],
                },
            },
        )
    said = production.failing("destroy", RUN_PROGRAM)
    assert "inference/stranger" in said
    with production.workload() as api:
        client.CoreV1Api(api).delete_namespaced_pod("stranger", "inference", grace_period_seconds=0)


def test_a_host_that_is_never_restored_ends_the_destroy_with_its_name_and_the_rescue(production: Production) -> None:
    production.pair.standin.behave(cc=CcBehaviour(uninstall="hanging", nodes=frozenset({"confidential-1"})))
    production.change(ccRuntime__deleteTimeout=30)
    production.up()
    said = production.failing("destroy", RUN_PROGRAM)
    assert "confidential-1" in said
    production.pair.standin.behave(cc=CcBehaviour())


def test_then_it_goes_down_and_leaves_the_hosts_and_the_teams_as_they_were(production: Production) -> None:
    production.engine.destroy("prod", RUN_PROGRAM)
    left = ("confidentialcontainers.org", "katacontainers.io", WORKER)
    for labels in production.node_labels().values():
        assert not [key for key in labels if key.startswith(left)]
    for side in ("workload", "trusted"):
        assert not production.names(side, "ApiextensionsV1Api", "list_custom_resource_definition")
    assert "confidential-containers-system" not in production.names("workload", "CoreV1Api", "list_namespace")
    assert set(TEAMS) <= production.names("workload", "CoreV1Api", "list_namespace")
