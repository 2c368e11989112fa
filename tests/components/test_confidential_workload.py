"""`ConfidentialWorkload`: the pod that becomes a confidential VM, and what is said when its measurement changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
import yaml

from components import rim
from components.cc_from_settings import workload_args
from components.confidential_workload import (
    ConfidentialWorkload,
    ConfidentialWorkloadArgs,
    Workload,
    pod_template,
    rim_inputs,
)
from components.kernel_params import KernelParams
from tests.components.recording import ROOT, Recorded, empties, record
from tests.settings.cc import DIGEST, RUNTIME, WORKLOAD, read

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
HYPERVISOR = "io.katacontainers.config.hypervisor."
KBS = "https://kbs.example:8080"
EXAMPLE = ROOT / "examples" / "confidential-npu.yaml"


def args(runtime: dict[str, Any] | None = None, **changes: Any) -> ConfidentialWorkloadArgs:
    fence = read({**RUNTIME, **(runtime or {})}, {**WORKLOAD, **changes})
    return workload_args(fence.workloads[0], fence.cc_runtime, kbs_url=KBS, production=True)


def workload(**changes: Any) -> Workload:
    return args(**changes).workload


def deployed(wanted: ConfidentialWorkloadArgs) -> Recorded:
    return record(lambda: ConfidentialWorkload("model", wanted))


def marks(**changes: Any) -> dict[str, str]:
    found: dict[str, str] = pod_template(workload(**changes))["metadata"]["annotations"]
    return found


def test_the_pod_says_to_containerd_and_to_kata_what_it_is() -> None:
    found = marks()
    assert found["io.containerd.cri.runtime-handler"] == "kata-qemu-virtcca", "or the image comes by the wrong way"
    assert found[f"{HYPERVISOR}default_vcpus"] == "4"
    assert found[f"{HYPERVISOR}default_memory"] == "8192"
    assert found[f"{HYPERVISOR}kernel_params"] == "agent.aa_kbc_params=cc_kbc::https://kbs.example:8080"
    assert pod_template(workload())["spec"]["runtimeClassName"] == "kata-qemu-virtcca"


def test_no_annotation_is_written_that_the_runtime_would_refuse() -> None:
    known = read(RUNTIME).cc_runtime.guest_annotations("kata-qemu-virtcca")
    found = marks(swiotlbMi=512, restApi="all", devices=["pcipc/nic=1"])
    assert {key.removeprefix(HYPERVISOR) for key in found if key.startswith(HYPERVISOR)} <= known
    with pytest.raises(ValueError, match="may not have the annotations default_memory, kernel_params"):
        replace(workload(), allowed_annotations=frozenset({"default_vcpus"}))


def test_the_command_line_is_the_same_however_it_was_written() -> None:
    whole = KernelParams(
        kbs_url=KBS,
        rest_api="resource",
        signature_policy_uri="kbs:///default/security-policy/test",
        registry_auth_uri="kbs:///default/credential/test",
        https_proxy="http://proxy:3128",
        no_proxy=("kbs.example", "10.0.0.0/8"),
        swiotlb_mib=256,
        extra={"b": "", "a": "1"},
    )
    assert whole.line() == (
        "agent.aa_kbc_params=cc_kbc::https://kbs.example:8080 agent.enable_signature_verification=true "
        "agent.guest_components_rest_api=resource agent.https_proxy=http://proxy:3128 "
        "agent.image_policy_file=kbs:///default/security-policy/test "
        "agent.image_registry_auth=kbs:///default/credential/test agent.no_proxy=kbs.example,10.0.0.0/8 "
        "swiotlb=131072,force a=1 b"
    ), "256 MiB are 131072 slots of 2 KiB"
    assert replace(whole, extra={"a": "1", "b": ""}).line() == whole.line(), "the order would change the measurement"
    assert whole.line().count("::") == 1
    assert KernelParams().line() == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kbs_url": "http:10.0.0.1:8080"}, "is not http"),
        ({"kbs_url": "https://[fd00::1]:8080"}, "is not http"),
        ({"swiotlb_mib": 100}, "no multiple of 64"),
        ({"extra": {"swiotlb": "1"}}, "has a field of its own"),
        ({"extra": {"a": "b c"}}, "is not one word"),
    ],
)
def test_a_command_line_that_no_guest_could_read_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        KernelParams(**change)


@pytest.mark.parametrize("extra", [{"agent.debug_console": ""}, {"agent.log": "debug"}])
def test_a_guest_that_shows_its_inside_is_for_trying_out_only(extra: dict[str, str]) -> None:
    kernel = KernelParams(extra=extra)
    with pytest.raises(ValueError, match="show the guest's inside to the host"):
        replace(workload(), kernel=kernel)
    assert replace(workload(), kernel=kernel, production=False).kernel is kernel


def test_the_image_is_pulled_by_the_guest_every_time_and_by_digest() -> None:
    (container,) = pod_template(workload())["spec"]["containers"]
    assert container["imagePullPolicy"] == "Always"
    assert container["image"].endswith(DIGEST)


def test_the_pod_shares_nothing_with_its_host() -> None:
    spec = pod_template(workload(devices=["pcipc/nic=1"], claimTemplates=["npu"], env={"A": "b"}))["spec"]
    assert not {"hostPID", "hostIPC", "hostNetwork", "volumes"} & set(spec)
    assert spec["automountServiceAccountToken"] is False
    assert "securityContext" not in spec["containers"][0], "nothing privileged"


def test_it_asks_the_scheduler_for_its_memory_and_sets_no_limit_that_would_grow_its_guest() -> None:
    (container,) = pod_template(workload())["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "4", "memory": "8Gi"}}, "in the form in which it is kept"
    (container,) = pod_template(workload(memoryMi=8194))["spec"]["containers"]
    assert container["resources"]["requests"]["memory"] == "8194Mi"


def test_devices_and_timeouts_are_annotations() -> None:
    found = marks(devices=["pcipc/nic=1", "pcipc/nic=2"], createTimeout=300)
    assert found["cdi.k8s.io/vfio-ringfence"] == "pcipc/nic=1,pcipc/nic=2"
    assert found["io.katacontainers.config.runtime.create_container_timeout"] == "300"
    assert "cdi.k8s.io/vfio-ringfence" not in marks()


@pytest.mark.parametrize(
    "change",
    [
        {"kernelParams": {"quiet": ""}},
        {"kbsUrl": "https://other.example:8080"},
        {"vcpus": 8},
        {"memoryMi": 4096},
        {"devices": ["pcipc/nic=1"]},
        {"guestHttpsProxy": "http://proxy:3128", "guestNoProxy": ["kbs.example"]},
        {"swiotlbMi": 512},
        {"runtimeClass": "kata-qemu-virtcca", "claimTemplates": ["npu-box16-1"]},
        {"runtime": {"payloadImage": "registry.example/kata@sha256:" + "1" * 64}},
        {"runtime": {"guestHttpsProxy": "http://proxy:3128", "guestNoProxy": ["kbs.example"]}},
    ],
)
def test_every_change_of_what_is_measured_changes_the_hash_and_rolls_the_pods(change: dict[str, Any]) -> None:
    key = rim.HASH_ANNOTATION
    before, after = pod_template(args().workload), pod_template(args(**change).workload)
    assert before["metadata"]["annotations"][key] != after["metadata"]["annotations"][key]


@pytest.mark.parametrize("change", [{"image": "registry.example/other" + DIGEST}, {"replicas": 3}, {"env": {"A": "b"}}])
def test_what_is_not_measured_does_not_cry_wolf(change: dict[str, Any]) -> None:
    assert rim_inputs(workload(**change)) == rim_inputs(workload())
    assert rim.notice("x", rim_inputs(workload()), rim_inputs(workload(**change))) is None


def test_the_notice_says_what_changed_and_what_to_do_in_which_order() -> None:
    said = rim.notice("team/model", rim_inputs(workload()), rim_inputs(workload(vcpus=8, devices=["pcipc/nic=1"])))
    assert said == (
        "team/model: reference values must be recomputed, or its new pods get no key. What is measured changes:\n"
        '  devices: nothing → ["pcipc/nic=1"]\n'
        "  vcpus: 4 → 8\n"
        "  Compute the RIM anew (virtCCA: gen_rim_ref) and add it to the key broker's reference values first; "
        "take the old one out once the last old pod is gone."
    )


def test_the_notice_is_given_before_an_update_and_compares_what_the_deployments_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", said.append)

    def asked(**changes: Any) -> dict[str, Any]:
        return dict(deployed(args(**changes)).one(DEPLOYMENT).inputs)

    old, new, same = asked(), asked(vcpus=8), asked(replicas=3)

    def program() -> None:
        hook = rim.telling("hook", "team/model")
        assert hook.opts is not None
        assert hook.opts.on_dry_run, "in a pull request it is in time"
        for after in (same, new):
            change: Any = SimpleNamespace(old_inputs=old, new_inputs=after)
            hook.callback(change)

    record(program)
    (line,) = said
    assert "vcpus: 4 → 8" in line


def test_the_deployment_gives_memory_and_devices_to_one_guest_at_a_time() -> None:
    recorded = deployed(args())
    spec = recorded.one(DEPLOYMENT).inputs["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    request = recorded.one(DEPLOYMENT).request
    assert list(request.hooks.before_update) == ["model-rim"]
    assert request.customTimeouts.create == "600s"


def test_nothing_empty_is_written_for_the_server_to_drop() -> None:
    assert not list(empties(deployed(args()).one(DEPLOYMENT).inputs["spec"]))


def test_more_than_a_pod_has_room_for_is_refused() -> None:
    with pytest.raises(ValueError, match="15 devices: a pod has room for 14"):
        replace(workload(), devices=[f"a/b={n}" for n in range(15)])
    with pytest.raises(ValueError, match="memory_mib 1025"):
        replace(workload(), memory_mib=1025)


def test_the_example_of_a_confidential_npu_is_what_the_component_makes() -> None:
    stack, (by_cdi, by_claim) = _example(EXAMPLE)
    fence = read({**RUNTIME, **stack["ccRuntime"]}, *stack["workloads"])
    made = [
        pod_template(workload_args(one, fence.cc_runtime, kbs_url=KBS, production=True).workload)
        for one in fence.workloads
    ]
    assert made == [by_cdi, by_claim]


def _example(path: Path) -> tuple[Any, list[Any]]:
    stack, *pods = yaml.safe_load_all(path.read_text())
    return stack, pods
