"""`ccRuntime`: what of a runtime is refused before anything is created, each with its exact sentence."""

from __future__ import annotations

from typing import Any

import pytest

from settings.cc_presets import OWNED_ENV, PRESETS
from settings.cc_runtime_checks import bypasses
from tests.settings.cc import DIGEST, RUNTIME, read, told

AT = "ringfence:fence.ccRuntime"
TAGGED = "registry.example/kata:3.15.0"

PROBLEMS: list[tuple[dict[str, Any], str]] = [
    (
        {"nodes": []},
        ".nodes: names no node: the operator would install nothing, and say nothing. "
        "Name the nodes that are to run confidential containers.",
    ),
    ({"nodes": ["Node 1"]}, ".nodes[0]: 'Node 1' cannot be a node's name. Write it as kubectl get nodes prints it."),
    ({"nodes": ["a", "a"]}, ".nodes[1]: a is there twice. Remove one."),
    ({"preset": "tdx"}, ".preset: is 'tdx'. Write virtcca or default."),
    (
        {"nodeLabel": {"key": "a b"}},
        ".nodeLabel.key: 'a b' cannot be a label's key. Write name or domain/name.",
    ),
    (
        {"nodeLabel": {"key": "katacontainers.io/kata-runtime"}},
        ".nodeLabel.key: katacontainers.io/kata-runtime belongs to the installers, which count nodes by it. "
        "Use a label that nothing else sets.",
    ),
    (
        {"nodeLabel": {"value": "yes please"}},
        ".nodeLabel.value: 'yes please' cannot be the value of a label. Use up to 63 letters, digits, -, _ and dots.",
    ),
    (
        {"nodeLabel": {"matchExpressions": []}},
        ".nodeLabel.matchExpressions: there is no such key. The keys here are key, value.",
    ),
    (
        {"runtimeClasses": [{"name": "virtcca"}]},
        ".runtimeClasses[0].name: 'virtcca' is no runtime class that kata-deploy can make. "
        "Write kata- and the name of a shim, such as kata-qemu-virtcca.",
    ),
    (
        {"runtimeClasses": [{"name": "kata-qemu", "pulltype": "guest-pull"}]},
        ".runtimeClasses[0]: an image is pulled inside the guest by way of nydus only. "
        "Write snapshotter: nydus, or remove pulltype.",
    ),
    (
        {"runtimeClasses": [{"name": "kata-qemu", "snapshotter": "stargz"}]},
        ".runtimeClasses[0].snapshotter: is 'stargz'. Write \"\", nydus or overlayfs.",
    ),
    (
        {"runtimeClasses": [{"name": "kata-qemu"}, {"name": "kata-clh"}]},
        ".runtimeClasses[1].name: kata-clh is no class of the preset virtcca, so its payload may have no such shim. "
        "Write kata-qemu, kata-qemu-coco-dev, kata-qemu-virtcca, or another preset.",
    ),
    (
        {"defaultRuntimeClass": "kata-clh"},
        ".defaultRuntimeClass: kata-clh is not among the runtime classes. "
        "Write one of kata-qemu, kata-qemu-coco-dev, kata-qemu-virtcca, or add it to runtimeClasses.",
    ),
    (
        {"env": {"AGENT_NO_PROXY": "x"}},
        ".env: AGENT_NO_PROXY is computed from other keys, and the last value given to the installers wins. "
        "Remove it and write guestNoProxy.",
    ),
    ({"env": {"A-B": "x"}}, ".env: 'A-B' cannot be an environment variable. Use letters, digits and _."),
    (
        {"guestHttpsProxy": "http://me:secret@proxy:3128"},
        ".guestHttpsProxy: 'http://…@proxy:3128' is no proxy. "
        "Write http://host:port, without a password: the host reads all of it.",
    ),
    (
        {"guestHttpsProxy": "http://proxy:3128", "guestNoProxy": ["a,b"]},
        ".guestNoProxy[0]: 'a,b' is no host, domain or network. Write one for each entry, such as .example.org.",
    ),
    (
        {"guestNoProxy": ["kbs.example"]},
        ".guestNoProxy: there is no guestHttpsProxy that it would be an exception from. "
        "Remove it, or write guestHttpsProxy.",
    ),
    (
        {"guestHttpsProxy": "http://proxy:3128", "guestNoProxy": [".other.example"]},
        ".guestNoProxy: the key broker kbs.example is not in it, so guests would ask the proxy for their keys. "
        "Add kbs.example.",
    ),
    (
        {"allowedHypervisorAnnotations": ["io.katacontainers.config.hypervisor.kernel"]},
        ".allowedHypervisorAnnotations[0]: 'io.katacontainers.config.hypervisor.kernel' is not the name of a "
        "hypervisor annotation. Write what follows io.katacontainers.config.hypervisor., such as kernel_params.",
    ),
    (
        {"installType": "bundle"},
        ".installType: the operator 0.13.0 does not look at it. Remove it; the stack writes what the schema wants.",
    ),
    (
        {"imagePullSecret": {"name": "x"}},
        ".imagePullSecret: the operator 0.13.0 does not look at it. "
        "Remove it, and name the Secret in imagePullSecrets of the operator.",
    ),
    (
        {"guestKernelImage": "x"},
        ".guestKernelImage: the operator 0.13.0 does not look at it. "
        "Remove it; the guest's kernel comes with payloadImage.",
    ),
    ({"waitTimeout": 5}, ".waitTimeout: is 5. Write at least 30."),
    (
        {"payloadImage": TAGGED},
        f".payloadImage: {TAGGED} is named by a tag, and who can move the tag becomes root on every confidential "
        "node. Add its digest (@sha256:…), or set production: false for a stack that only tries things out.",
    ),
    (
        {"debug": True},
        ".debug: a guest that logs everything tells the host what it is to keep from it. "
        "Write false, or set production: false for a stack that only tries things out.",
    ),
]


@pytest.mark.parametrize(("change", "line"), PROBLEMS, ids=[line.split(":")[0] for _, line in PROBLEMS])
def test_a_wrong_runtime_is_told_by_key_reason_and_remedy(change: dict[str, Any], line: str) -> None:
    assert told({**RUNTIME, **change}, kbs_url="https://kbs.example:8080") == [AT + line]


@pytest.mark.parametrize("key", ["payloadImage", "preInstallImage", "nodes", "preset"])
def test_no_image_is_made_up_and_no_node_is_guessed(key: str) -> None:
    (line,) = told({name: value for name, value in RUNTIME.items() if name != key})
    assert line.startswith(f"{AT}.{key}: is missing. Add it: ")


def test_latest_is_refused_also_where_things_are_tried_out() -> None:
    (line,) = told({**RUNTIME, "payloadImage": "registry.example/kata:latest"}, production=False)
    assert line.startswith(f"{AT}.payloadImage: ")


def test_a_stack_that_tries_things_out_may_use_tags_and_debug() -> None:
    assert told({**RUNTIME, "payloadImage": TAGGED, "debug": True}, production=False) == []


def test_the_shipped_presets_are_right() -> None:
    for name in PRESETS:
        assert told({**RUNTIME, "preset": name}) == []


@pytest.mark.parametrize(
    ("entry", "yes"),
    [
        ("kbs.example.org", True),
        (".example.org", True),
        ("*.example.org", True),
        ("example.org", True),
        ("ample.org", False),
        ("10.0.0.0/8", False),
    ],
)
def test_a_host_is_reached_without_the_proxy_by_name_or_domain(entry: str, yes: bool) -> None:
    assert bypasses("kbs.example.org", (entry,)) is yes


def test_an_address_is_reached_without_the_proxy_by_its_network() -> None:
    assert bypasses("10.1.2.3", ("10.0.0.0/8",))
    assert not bypasses("11.1.2.3", ("10.0.0.0/8",))


def test_what_a_pod_may_annotate_is_the_presets_list_and_the_stacks() -> None:
    runtime = read({**RUNTIME, "allowedHypervisorAnnotations": ["machine_type"]}).cc_runtime
    assert runtime.guest_annotations("kata-qemu-virtcca") == {
        "enable_iommu",
        "virtio_fs_extra_args",
        "kernel_params",
        "default_vcpus",
        "default_memory",
        "machine_type",
    }
    assert runtime.guest_annotations("kata-qemu") == {"machine_type"}, "of the others no list is known"


def test_every_variable_that_the_operator_computes_is_its_own() -> None:
    for name in OWNED_ENV:
        assert f".env: {name} is computed from other keys" in told({**RUNTIME, "env": {name: "x"}})[0]
    assert read({**RUNTIME, "env": {"HOST_OS": "openeuler"}}).cc_runtime.env == {"HOST_OS": "openeuler"}


def test_the_undoing_image_is_that_of_the_preparation_unless_it_is_named() -> None:
    assert read(RUNTIME).cc_runtime.post_uninstall_image is None
    assert told({**RUNTIME, "postUninstallImage": "registry.example/reqs" + DIGEST}) == []
