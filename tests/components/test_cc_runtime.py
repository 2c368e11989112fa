"""`CcRuntime`: the CcRuntime of each preset as the samples have it, its labels, and how it hangs together."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import cc_hooks
from components.cc_from_settings import cc_runtime_args
from components.cc_runtime import CcRuntime, CcRuntimeArgs
from components.cluster_view import ClusterAccess
from settings.cc_presets import PRESETS, PresetName
from tests.components.recording import Recorded, Registered, empties, record
from tests.settings.cc import DIGEST, RUNTIME, read

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "RINGFENCE_UPDATE_GOLDEN"
ACCESS = ClusterAccess(context="here")

CC_RUNTIME = "kubernetes:confidentialcontainers.org/v1beta1:CcRuntime"
PATCH = "kubernetes:core/v1:NodePatch"
GATE = "pulumi:index:Stash"

HOST_PATHS = {
    "crio-conf": "/etc/crio/",
    "containerd-conf": "/etc/containerd/",
    "local-bin": "/usr/local/bin/",
    "host": "/",
}
HOOK_PATHS = {
    "confidential-containers-artifacts": "/opt/confidential-containers/",
    "etc-systemd-system": "/etc/systemd/system/",
    "containerd-conf": "/etc/containerd/",
    "local-bin": "/usr/local/bin/",
    "containerd-nydus": "/var/lib/containerd-nydus/",
}


def args(**changes: Any) -> CcRuntimeArgs:
    return cc_runtime_args(read({**RUNTIME, **changes}).cc_runtime, ACCESS, None)


def runtime(wanted: CcRuntimeArgs) -> Recorded:
    def program() -> None:
        CcRuntime("cc", replace(wanted, removal=cc_hooks.removal(ACCESS, 1)))

    return record(program)


def config(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = runtime(args(**changes)).one(CC_RUNTIME).inputs["spec"]["config"]
    return found


def classes(preset: PresetName) -> list[tuple[str, str, str]]:
    found = config(preset=preset)["runtimeClasses"]
    return [(one["name"], one["snapshotter"], one["pulltype"]) for one in found]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_whole_object_is_what_was_reviewed(preset: PresetName) -> None:
    """RINGFENCE_UPDATE_GOLDEN=1 writes the files anew; the one of `default` is upstream's sample, field for field."""
    text = yaml.safe_dump(runtime(args(preset=preset)).one(CC_RUNTIME).inputs, allow_unicode=True, width=120)
    path = GOLDEN / f"cc-runtime-{preset}.yaml"
    if os.environ.get(UPDATE):
        path.write_text(text)
    assert text == path.read_text()


def test_upstreams_runtime_classes_are_those_of_its_sample() -> None:
    assert classes("default") == [
        ("kata-clh", "", ""),
        ("kata-qemu", "", ""),
        ("kata-qemu-coco-dev", "nydus", "guest-pull"),
        ("kata-qemu-tdx", "nydus", "guest-pull"),
        ("kata-qemu-snp", "nydus", "guest-pull"),
    ]


def test_kunpengs_runtime_classes_are_those_of_its_sample() -> None:
    assert classes("virtcca") == [
        ("kata-qemu", "", ""),
        ("kata-qemu-coco-dev", "nydus", "guest-pull"),
        ("kata-qemu-virtcca", "nydus", "guest-pull"),
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_what_both_samples_share(preset: PresetName) -> None:
    one = runtime(args(preset=preset)).one(CC_RUNTIME).inputs
    found = one["spec"]["config"]
    script = "/opt/kata-artifacts/scripts/kata-deploy.sh"
    assert one["metadata"]["name"] == "ccruntime-sample"
    assert one["spec"]["runtimeName"] == "kata"
    assert found["defaultRuntimeClassName"] == "kata-qemu"
    assert [found["installCmd"], found["uninstallCmd"], found["cleanupCmd"]] == [
        [script, "install"],
        [script, "cleanup"],
        [script, "reset"],
    ]
    assert found["environmentVariables"] == [{"name": "INSTALL_OFFICIAL_CONTAINERD", "value": "false"}]
    assert {one["name"]: one["hostPath"]["path"] for one in found["installerVolumes"]} == HOST_PATHS
    inside = {one["name"]: one["mountPath"] for one in found["installerVolumeMounts"]}
    assert inside == HOST_PATHS | {"host": "/host/"}
    for hook in ("preInstall", "postUninstall"):
        assert {one["name"]: one["hostPath"]["path"] for one in found[hook]["volumes"]} == HOOK_PATHS
        assert {one["name"]: one["mountPath"] for one in found[hook]["volumeMounts"]} == HOOK_PATHS
        types = {one["name"]: one["hostPath"]["type"] for one in found[hook]["volumes"]}
        assert types == dict.fromkeys(HOOK_PATHS, "") | {"confidential-containers-artifacts": "DirectoryOrCreate"}


def test_done_labels_have_the_one_entry_and_the_value_that_the_operator_expects() -> None:
    assert config()["installDoneLabel"] == {"katacontainers.io/kata-runtime": "true"}
    assert config()["uninstallDoneLabel"] == {"katacontainers.io/kata-runtime": "cleanup"}


def test_no_field_is_written_that_the_operator_does_not_read_but_the_required_one() -> None:
    found = config()
    assert found["installType"] == "bundle"
    dead = {"imagePullSecret", "osNativeRepo", "runtimeImage", "guestKernelImage", "guestInitrdImage"}
    assert not dead & set(found)
    assert "cmd" not in found["preInstall"], "its path is fixed"
    assert "imagePullPolicy" not in found, "unset it is Always"


def test_the_selector_has_no_expressions_and_equals_the_label() -> None:
    recorded = runtime(args(nodeLabel={"key": "tee", "value": "yes"}, nodes=["b", "a"]))
    assert recorded.one(CC_RUNTIME).inputs["spec"]["ccNodeSelector"] == {"matchLabels": {"tee": "yes"}}
    found = {one.inputs["metadata"]["name"]: one.inputs["metadata"]["labels"] for one in recorded.all(PATCH)}
    assert found == {"a": {"tee": "yes"}, "b": {"tee": "yes"}}


def test_the_label_is_the_empty_worker_label_unless_another_is_written() -> None:
    assert runtime(args()).one(PATCH).inputs["metadata"]["labels"] == {"node.kubernetes.io/worker": ""}


def test_a_label_has_a_manager_of_its_own_so_that_nothing_else_goes_with_it() -> None:
    metadata = runtime(args()).one(PATCH).inputs["metadata"]
    assert metadata["annotations"] == {
        "pulumi.com/patchFieldManager": "ringfence-cc-node-label",
        "pulumi.com/patchForce": "true",
    }
    assert set(metadata) == {"name", "labels", "annotations"}


def test_another_label_has_another_manager() -> None:
    """It is made before the old one goes; and a manager that goes takes all its labels with it, the new one too."""
    keys = ("node.kubernetes.io/worker", "tee", "example.org/tee")
    labels = [runtime(args(nodeLabel={"key": key})).one(PATCH).inputs["metadata"] for key in keys]
    assert len({one["annotations"]["pulumi.com/patchFieldManager"] for one in labels}) == len(keys)


def test_every_change_of_the_spec_is_a_replacement_and_the_old_one_goes_first() -> None:
    request = runtime(args()).one(CC_RUNTIME).request
    assert list(request.replaceOnChanges) == ["spec"], "the operator's DaemonSets are created once: it would do nothing"
    assert request.deleteBeforeReplace, "its name is taken"


def test_a_deletion_is_asked_about_first_and_bounded() -> None:
    request = runtime(args(deleteTimeout=77)).one(CC_RUNTIME).request
    assert request.customTimeouts.delete == "77s"
    assert list(request.hooks.before_delete) == [cc_hooks.REMOVAL], "a name that stays: the state refers to it"
    assert list(request.hooks.on_error) == [cc_hooks.REMOVAL_FAILED]


def test_the_gate_waits_when_it_is_made_and_when_what_it_waits_for_changes() -> None:
    recorded = runtime(args(nodes=["b", "a"]))
    gate = recorded.one(GATE)
    assert gate.inputs["input"]["nodes"] == ["a", "b"]
    assert "uid" in gate.inputs["input"], "or a CcRuntime made anew would count as the one that was ready"
    assert list(gate.request.hooks.before_create) == ["cc-ready"]
    assert list(gate.request.hooks.before_update) == ["cc-ready"]
    assert {"cc-cc-runtime", "cc-a", "cc-b"} <= gate.depends_on


def test_labels_come_before_the_runtime_and_go_after_it() -> None:
    recorded = runtime(args(nodes=["b", "a"]))
    assert {"cc-a", "cc-b"} <= recorded.one(CC_RUNTIME).depends_on
    for one in recorded.all(PATCH):
        assert list(one.request.hooks.before_create) == [f"{one.name}-label"], (
            "to label a node that is not there makes it"
        )


def test_no_runtime_class_and_no_daemon_set_has_a_second_owner() -> None:
    kinds = {one.type for one in runtime(args()).kubernetes()}
    assert kinds == {CC_RUNTIME, PATCH}


def test_what_a_site_sets_arrives_in_the_order_in_which_it_counts() -> None:
    found = config(
        env={"HOST_OS": "openeuler", "A": "1"},
        guestHttpsProxy="http://proxy:3128",
        guestNoProxy=["kbs.example", ".example.org"],
        allowedHypervisorAnnotations=["machine_type", "kernel"],
        imagePullPolicy="IfNotPresent",
        debug=True,
        postUninstallImage="registry.example/other" + DIGEST,
    )
    assert [(one["name"], one["value"]) for one in found["environmentVariables"]] == [
        ("INSTALL_OFFICIAL_CONTAINERD", "false"),
        ("AGENT_HTTPS_PROXY", "http://proxy:3128"),
        ("AGENT_NO_PROXY", "kbs.example,.example.org"),
        ("ALLOWED_HYPERVISOR_ANNOTATIONS", "machine_type kernel"),
        ("A", "1"),
        ("HOST_OS", "openeuler"),
    ]
    assert (found["imagePullPolicy"], found["debug"]) == ("IfNotPresent", True)
    assert found["preInstall"]["image"] != found["postUninstall"]["image"]


def test_taints_are_tolerated_by_the_installers() -> None:
    taint = {"key": "huawei.com/npu", "operator": "Exists", "effect": "NoSchedule"}
    assert runtime(args(tolerations=[taint])).one(CC_RUNTIME).inputs["spec"]["ccTolerations"] == [taint]


def test_nothing_empty_is_written_for_the_server_to_drop() -> None:
    found: list[Registered] = runtime(args()).kubernetes()
    assert not [path for one in found for path in empties(one.inputs)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": ()}, "nodes is empty"),
        ({"nodes": ("a", "a")}, "nodes names one twice"),
        ({"default_runtime_class": "kata-clh"}, "is not among runtime_classes"),
    ],
)
def test_what_the_operator_would_be_silent_about_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(args(), **change)
