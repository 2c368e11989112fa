"""The two CcRuntimes that are known to work with cc-operator 0.13.0, as data: upstream's sample and Kunpeng's.

Sources: confidential-containers/operator v0.13.0 config/samples/ccruntime, openeuler/virtCCA_sdk kata-v3.15.0
conf/virtcca-kata-deploy.yaml. Both use the same host paths, commands and labels; they differ in runtime classes. No
image is here: upstream's are pinned by each release, Kunpeng's are published nowhere, so the stack names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

PresetName = Literal["virtcca", "default"]

NAME = "ccruntime-sample"
"""The CcRuntime's, as both samples have it: whoever applied a sample by hand is told so instead of having two."""

OWNED_ENV = frozenset(
    {
        "AGENT_HTTPS_PROXY",
        "AGENT_NO_PROXY",
        "ALLOWED_HYPERVISOR_ANNOTATIONS",
        "CREATE_DEFAULT_RUNTIMECLASS",
        "CREATE_RUNTIMECLASSES",
        "DEBUG",
        "DEFAULT_SHIM",
        "NODE_NAME",
        "PULL_TYPE_MAPPING",
        "SHIMS",
        "SNAPSHOTTER_HANDLER_MAPPING",
    }
)
"""What the operator computes from the CcRuntime's fields, or a key of its own says. The last value given wins."""


@dataclass(frozen=True)
class RuntimeClass:
    """One that kata-deploy makes. snapshotter: "", "nydus" or "overlayfs". pull_type: "" or "guest-pull"."""

    name: str
    snapshotter: str = ""
    pull_type: str = ""


@dataclass(frozen=True)
class HostMount:
    """A path of the host at `inside` of an installer. type: of the hostPath volume; "" checks nothing."""

    name: str
    path: str
    inside: str
    type: str = ""


@dataclass(frozen=True)
class Preset:
    """guest_annotations: the hypervisor annotations that the runtime accepts from a pod without further ado, by
    runtime class; a class that is not there accepts none that is known.
    passthrough: classes with a documented way to pass devices.
    """

    name: PresetName
    runtime_classes: tuple[RuntimeClass, ...]
    default_runtime_class: str
    env: Mapping[str, str]
    guest_annotations: Mapping[str, tuple[str, ...]]
    passthrough: tuple[str, ...] = ()

    def runtime_class_names(self) -> tuple[str, ...]:
        """In the order in which they are given to the operator."""
        return tuple(one.name for one in self.runtime_classes)


_GUEST_PULL = ("nydus", "guest-pull")
# The cluster's containerd is used as it is: it has to be 1.7 or later, and below 2.0 for reqs-payload 0.13.
_ENV = MappingProxyType({"INSTALL_OFFICIAL_CONTAINERD": "false"})

DEFAULT = Preset(
    name="default",
    runtime_classes=(
        RuntimeClass("kata-clh"),
        RuntimeClass("kata-qemu"),
        RuntimeClass("kata-qemu-coco-dev", *_GUEST_PULL),
        RuntimeClass("kata-qemu-tdx", *_GUEST_PULL),
        RuntimeClass("kata-qemu-snp", *_GUEST_PULL),
    ),
    default_runtime_class="kata-qemu",
    env=_ENV,
    guest_annotations=MappingProxyType({}),
)
VIRTCCA = Preset(
    name="virtcca",
    runtime_classes=(
        RuntimeClass("kata-qemu"),
        RuntimeClass("kata-qemu-coco-dev", *_GUEST_PULL),
        RuntimeClass("kata-qemu-virtcca", *_GUEST_PULL),
    ),
    default_runtime_class="kata-qemu",
    env=_ENV,
    guest_annotations=MappingProxyType(
        {
            "kata-qemu-virtcca": (
                "enable_iommu",
                "virtio_fs_extra_args",
                "kernel_params",
                "default_vcpus",
                "default_memory",
            )
        }
    ),
    passthrough=("kata-qemu-virtcca",),
)
PRESETS: Mapping[PresetName, Preset] = MappingProxyType({one.name: one for one in (VIRTCCA, DEFAULT)})

DONE_LABEL = "katacontainers.io/kata-runtime"
INSTALL_DONE = MappingProxyType({DONE_LABEL: "true"})
UNINSTALL_DONE = MappingProxyType({DONE_LABEL: "cleanup"})

_SCRIPT = "/opt/kata-artifacts/scripts/kata-deploy.sh"
INSTALL = (_SCRIPT, "install")
UNINSTALL = (_SCRIPT, "cleanup")
CLEANUP = (_SCRIPT, "reset")

INSTALLER_MOUNTS = (
    HostMount("crio-conf", "/etc/crio/", "/etc/crio/"),
    HostMount("containerd-conf", "/etc/containerd/", "/etc/containerd/"),
    HostMount("local-bin", "/usr/local/bin/", "/usr/local/bin/"),
    HostMount("host", "/", "/host/"),
)
HOOK_MOUNTS = (
    HostMount(
        "confidential-containers-artifacts",
        "/opt/confidential-containers/",
        "/opt/confidential-containers/",
        "DirectoryOrCreate",
    ),
    HostMount("etc-systemd-system", "/etc/systemd/system/", "/etc/systemd/system/"),
    HostMount("containerd-conf", "/etc/containerd/", "/etc/containerd/"),
    HostMount("local-bin", "/usr/local/bin/", "/usr/local/bin/"),
    HostMount("containerd-nydus", "/var/lib/containerd-nydus/", "/var/lib/containerd-nydus/"),
)
