"""`workloads`: what of a confidential workload is refused before anything is created, each with its exact sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.settings.cc import DIGEST, RUNTIME, WORKLOAD, told

AT = "ringfence:fence.workloads[0]"
KBS = "https://kbs.example:8080"
DEFAULT = {**RUNTIME, "preset": "default"}
OTHERWISE = "or set production: false for a stack that only tries things out."

PROBLEMS: list[tuple[dict[str, Any], str]] = [
    (
        {"image": "registry.example/model:1"},
        ".image: registry.example/model:1 is not named by its digest, so the registry decides what runs in the guest. "
        "Add @sha256: and the 64 digits of the image that you have tested.",
    ),
    (
        {"runtimeClass": "kata-clh"},
        ".runtimeClass: kata-clh is none of the runtime classes that are installed. "
        "Write kata-qemu, kata-qemu-coco-dev, kata-qemu-virtcca.",
    ),
    ({"vcpus": 0}, ".vcpus: is 0. Write at least 1."),
    (
        {"memoryMi": 1025},
        ".memoryMi: 1025 MiB cannot be secure memory. Write at least 1024, and an even number: it is given in 2 MiB.",
    ),
    (
        {"memoryMi": 512},
        ".memoryMi: 512 MiB cannot be secure memory. Write at least 1024, and an even number: it is given in 2 MiB.",
    ),
    (
        {"kbsUrl": "http:10.0.0.1:8080"},
        ".kbsUrl: 'http:10.0.0.1:8080' is no address of a key broker. Write http(s)://host:port, with the port, "
        "without a path and with a name rather than an IPv6 address.",
    ),
    (
        {"kbsUrl": "https://[fd00::1]:8080"},
        ".kbsUrl: 'https://[fd00::1]:8080' is no address of a key broker. Write http(s)://host:port, with the port, "
        "without a path and with a name rather than an IPv6 address.",
    ),
    (
        {"kbsUrl": "https://localhost:8080"},
        ".kbsUrl: localhost is the guest itself. Write the address at which a guest reaches the key broker.",
    ),
    (
        {"kbsUrl": "http://kbs.example:8080"},
        ".kbsUrl: http://kbs.example:8080 is not encrypted, so keys could be read and replaced on their way. "
        f"Write https://, {OTHERWISE}",
    ),
    (
        {"signaturePolicyUri": "kbs:///security-policy/test"},
        ".signaturePolicyUri: 'kbs:///security-policy/test' does not name a resource of the key broker. "
        "Write kbs:///repository/type/tag with three parts; with trustee-operator the repository is default.",
    ),
    (
        {"guestHttpsProxy": "http://proxy:3128"},
        ".guestNoProxy: the key broker kbs.example is not in it, so the guest would ask the proxy for its keys. "
        "Add kbs.example.",
    ),
    ({"restApi": "none"}, ".restApi: is 'none'. Write all, attestation or resource."),
    ({"swiotlbMi": 100}, ".swiotlbMi: 100 MiB is no multiple of 64. Write 64, 128, 192, 256 and so on."),
    (
        {"devices": ["/dev/vfio/7"]},
        ".devices[0]: '/dev/vfio/7' is no CDI device. Write vendor/class=name as in a file of /etc/cdi.",
    ),
    ({"devices": ["pcipc/nic=1", "pcipc/nic=1"]}, ".devices[1]: pcipc/nic=1 is there twice. Remove one."),
    (
        {"devices": [f"pcipc/nic={n}" for n in range(15)]},
        ".devices: a pod has room for 14 devices. Write at most 14.",
    ),
    (
        {"kernelParams": {"agent.aa_kbc_params": "x"}},
        ".kernelParams: agent.aa_kbc_params has a key of its own. Remove it and write kbsUrl.",
    ),
    (
        {"kernelParams": {"a": "b c"}},
        ".kernelParams: a=b c is not one word of a kernel command line. Write it without spaces.",
    ),
    (
        {"kernelParams": {"agent.debug_console": ""}},
        f'.kernelParams["agent.debug_console"]: it shows the guest\'s inside to the host. Remove it, {OTHERWISE}',
    ),
    (
        {"kernelParams": {"agent.log": "debug"}},
        f'.kernelParams["agent.log"]: it shows the guest\'s inside to the host. Remove it, {OTHERWISE}',
    ),
    (
        {"initData": "version = 0.1.0"},
        ".initData: kata 3.15 hands init-data to remote hypervisors only, so a guest on this host would never see it. "
        "Remove it; what it would say goes to kernelParams or into the guest's image.",
    ),
    (
        {"memoryMi": 8 * 1024**3},
        ".memoryMi: 8589934592 MiB are more than any host has. Write it in MiB: 8 GiB are 8192.",
    ),
    (
        {"kernelParams": {"a": '"b'}},
        '.kernelParams: a="b is not read as written. Write letters, digits and signs of ASCII, no quotes.',
    ),
    (
        {"kernelParams": {"quiet": None}},
        '.kernelParams: quiet has no value. Write quiet: "" for a parameter without one.',
    ),
    (
        {"kernelParams": {"a": "ü"}},
        ".kernelParams: a=ü is not read as written. Write letters, digits and signs of ASCII, no quotes.",
    ),
    (
        {"name": "a.b"},
        ".name: 'a.b' cannot be a name. Use up to 63 lower-case letters, digits and dashes, with a letter or digit at "
        "both ends.",
    ),
    (
        {"hostPID": True},
        ".hostPID: there is no such key. The keys here are args, claimTemplates, command, createTimeout, devices, env, "
        "guestHttpsProxy, guestNoProxy, image, imagePullSecrets, initData, kbsUrl, kernelParams, memoryMi, name, "
        "namespace, registryAuthUri, replicas, restApi, rolloutTimeout, runtimeClass, signaturePolicyUri, swiotlbMi, "
        "vcpus.",
    ),
]


@pytest.mark.parametrize(("change", "line"), PROBLEMS, ids=[f"{i}{x[1].split(':')[0]}" for i, x in enumerate(PROBLEMS)])
def test_a_wrong_workload_is_told_by_key_reason_and_remedy(change: dict[str, Any], line: str) -> None:
    assert told(RUNTIME, {**WORKLOAD, **change}, kbs_url=KBS) == [AT + line]


def test_a_class_whose_images_the_host_pulls_is_no_confidential_one() -> None:
    lines = told(
        {**RUNTIME, "allowedHypervisorAnnotations": ["default_vcpus", "default_memory"]},
        {**WORKLOAD, "runtimeClass": "kata-qemu"},
    )
    assert lines == [
        f"{AT}.runtimeClass: with kata-qemu the host pulls the image and can change it. "
        f"Write a class with guest-pull, {OTHERWISE}"
    ]


def test_an_annotation_that_is_not_known_to_be_accepted_is_refused_before_a_pod_is() -> None:
    workload = {**WORKLOAD, "runtimeClass": "kata-qemu-tdx"}
    assert told(DEFAULT, workload, kbs_url=KBS) == [
        f"{AT}.runtimeClass: kata-qemu-tdx is not known to accept the annotations default_memory, default_vcpus, "
        "kernel_params, and with one that it does not, no pod starts. "
        "Add them to allowedHypervisorAnnotations of ccRuntime, or write another class."
    ]
    allowed = {"allowedHypervisorAnnotations": ["default_memory", "default_vcpus", "kernel_params"]}
    assert told({**DEFAULT, **allowed}, workload, kbs_url=KBS) == []


def test_devices_go_only_where_the_way_is_documented() -> None:
    allowed = {"allowedHypervisorAnnotations": ["default_memory", "default_vcpus", "kernel_params"]}
    workload = {**WORKLOAD, "runtimeClass": "kata-qemu-tdx", "devices": ["pcipc/nic=1"]}
    assert told({**DEFAULT, **allowed}, workload) == [
        f"{AT}.devices: how kata-qemu-tdx is given devices is not documented. Remove it, or use the preset virtcca."
    ]
    assert told(RUNTIME, {**WORKLOAD, "devices": ["pcipc/nic=1"]}) == []


def test_what_comes_from_the_key_broker_needs_one() -> None:
    assert told(RUNTIME, {**WORKLOAD, "registryAuthUri": "kbs:///default/credential/test"}) == [
        f"{AT}.registryAuthUri: the guest is told no key broker to get it from. Write kbsUrl, or remove it."
    ]


def test_a_right_workload_is_right() -> None:
    whole = {
        "signaturePolicyUri": "kbs:///default/security-policy/test",
        "registryAuthUri": "kbs:///default/credential/test",
        "guestHttpsProxy": "http://proxy:3128",
        "guestNoProxy": ["kbs.example"],
        "swiotlbMi": 512,
        "devices": ["pcipc/nic=1"],
        "kernelParams": {"quiet": ""},
        "createTimeout": 300,
    }
    assert told(RUNTIME, {**WORKLOAD, **whole}, kbs_url=KBS) == []
    assert told(RUNTIME, {**WORKLOAD, "image": f"registry.example/model:1{DIGEST}"}) == []
    trying = {"kbsUrl": "http://kbs.example:8080", "kernelParams": {"agent.log": "debug"}}
    assert told(RUNTIME, {**WORKLOAD, **trying}, production=False) == []
