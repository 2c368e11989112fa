"""CcRuntime of cc-operator, v1beta1: what its CRD takes at 0.13.0, which is the same up to 0.17.0, the last."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from settings.crs.fields import (
    Dead,
    EnvVar,
    Fields,
    LabelSelector,
    LocalObjectReference,
    Nullable,
    Toleration,
    Volume,
    VolumeMount,
)

RuntimeName = Literal["kata", "enclave-cc"]
Words = tuple[str, ...] | None

_NEVER_READ = "the operator never reads it."
_FIXED = "the hook runs the script of its image, at a fixed path."


class RuntimeClass(Fields):
    """A RuntimeClass that the payload creates. All three are demanded, and may be empty."""

    name: str = Field(description="its name, with the prefix kata-")
    snapshotter: str = Field(description="containerd's snapshotter for it, such as nydus; empty for containerd's own")
    pulltype: str = Field(description="guest-pull, or empty to pull on the host")


class Hook(Fields):
    """A DaemonSet that runs before the installation or after its removal."""

    image: str | None = Field(default=None, description="image of the DaemonSet; without it there is none")
    cmd: Annotated[Words, Dead(_FIXED)] = Field(default=None, description="command of the hook")
    environment_variables: tuple[EnvVar, ...] | None = Field(default=None, description="its environment")
    volumes: tuple[Volume, ...] | None = Field(default=None, description="its volumes")
    volume_mounts: tuple[VolumeMount, ...] | None = Field(default=None, description="where they are mounted")


class InstallConfig(Fields):
    """How the runtime gets onto the nodes. Its DaemonSets are created once: a later change does not reach them."""

    install_type: Annotated[Literal["bundle", "osnative"], Dead("every installation is a bundle.")] = Field(
        description="bundle (an image with everything) or osnative (packages)"
    )
    payload_image: str = Field(description="image that installs and removes the runtime")
    image_pull_policy: str | None = Field(default=None, description="pull policy of the DaemonSets; Always without it")
    image_pull_secret: Annotated[
        LocalObjectReference | None, Dead("what opens the registry belongs on the operator's ServiceAccount.")
    ] = Field(default=None, description="Secret that opens the registry")
    install_cmd: Words = Field(default=None, description="command of the installing DaemonSet")
    uninstall_cmd: Words = Field(default=None, description="command of the removing DaemonSet")
    cleanup_cmd: Words = Field(default=None, description="what the installing DaemonSet runs before it stops")
    install_done_label: dict[str, str] | None = Field(
        default=None, description='the one label by which an installed node is known; its value has to be "true"'
    )
    uninstall_done_label: dict[str, str] | None = Field(
        default=None, description='the one label by which a cleared node is known; its value has to be "cleanup"'
    )
    installer_volumes: tuple[Volume, ...] | None = Field(default=None, description="volumes of these DaemonSets")
    installer_volume_mounts: tuple[VolumeMount, ...] | None = Field(default=None, description="where they are mounted")
    runtime_classes: tuple[RuntimeClass, ...] | None = Field(
        default=None, description="the RuntimeClasses that the payload creates"
    )
    default_runtime_class_name: str | None = Field(
        default=None, description="the class that gets the alias kata; it has to begin with kata-"
    )
    environment_variables: tuple[EnvVar, ...] | None = Field(
        default=None, description="environment of all DaemonSets; what is named twice counts as it is here"
    )
    debug: bool | None = Field(default=None, description="whether the payload says more; false without it")
    pre_install: Hook | None = Field(default=None, description="what runs on a node before the installation")
    post_uninstall: Hook | None = Field(default=None, description="what runs on a node after the removal")
    os_native_repo: Annotated[str | None, Dead(_NEVER_READ)] = Field(
        default=None, description="package repository, for osnative"
    )
    runtime_image: Annotated[str | None, Dead(_NEVER_READ)] = Field(
        default=None, description="image with the runtime's binaries"
    )
    guest_kernel_image: Annotated[str | None, Dead(_NEVER_READ)] = Field(
        default=None, description="image with the guest's kernel"
    )
    guest_initrd_image: Annotated[str | None, Dead(_NEVER_READ)] = Field(
        default=None, description="image with the guest's initrd"
    )


class CcRuntimeSpec(Fields):
    """What is to be installed, and where."""

    runtime_name: RuntimeName = Field(description="kata (virtual machines) or enclave-cc (SGX processes)")
    cc_node_selector: Annotated[
        LabelSelector | None,
        Nullable(),
        Dead("nodes are chosen by matchLabels alone.", part="matchExpressions"),
    ] = Field(default=None, description='the nodes; those labelled node.kubernetes.io/worker: "" without it')
    cc_tolerations: tuple[Toleration, ...] | None = Field(
        default=None, description="tolerations of every DaemonSet that the operator creates"
    )
    config: InstallConfig = Field(description="how it is installed")


class Completed(Fields):
    """Nodes that are done. The list only grows: a node that left the cluster stays in it."""

    completed_nodes_count: int | None = Field(default=None, description="how many")
    completed_nodes_list: Words = Field(default=None, description="their names")


class FailedNode(Fields):
    """A node on which it failed."""

    name: str = Field(description="the node")
    error: str = Field(description="what went wrong")


class Failed(Fields):
    """Nodes on which it failed."""

    failed_nodes_count: int | None = Field(default=None, description="how many")
    failed_nodes_list: tuple[FailedNode, ...] | None = Field(default=None, description="each, with its error")


class Installing(Fields):
    """Nodes on which it is under way."""

    in_progress_nodes_count: int | None = Field(default=None, description="how many")
    binaries_install_nodes_list: Words = Field(default=None, description="their names")


class Uninstalling(Fields):
    """Nodes on which it is under way."""

    in_progress_nodes_count: int | None = Field(default=None, description="how many")
    binaries_uninstall_nodes_list: Words = Field(default=None, description="their names")


class InstallationStatus(Fields):
    """How far the installation is."""

    in_progress: Installing | None = Field(default=None, description="nodes on which it is under way")
    completed: Completed | None = Field(default=None, description="nodes that are done")
    failed: Failed | None = Field(default=None, description="nodes on which it failed")


class UninstallationStatus(Fields):
    """How far the removal is."""

    in_progress: Uninstalling | None = Field(default=None, description="nodes on which it is under way")
    completed: Completed | None = Field(default=None, description="nodes that are done")
    failed: Failed | None = Field(default=None, description="nodes on which it failed")


class UpgradeStatus(Fields):
    """Nothing."""


class CcRuntimeStatus(Fields):
    """What the operator found. There are no conditions: whether it is ready has to be computed."""

    runtime_class: str = Field(description="names of the RuntimeClasses, joined by commas; empty until they are there")
    runtime_name: RuntimeName = Field(description="as in the spec")
    total_nodes_count: int = Field(description="how many nodes the selector matches")
    installation_status: InstallationStatus | None = Field(default=None, description="how far the installation is")
    un_installation_status: UninstallationStatus | None = Field(default=None, description="how far the removal is")
    upgrade_status: Annotated[UpgradeStatus | None, Dead("the operator never writes it.")] = Field(
        default=None, description="how far an upgrade is"
    )


class CcRuntime(Fields):
    """A confidential runtime on a cluster's nodes. The objects that the operator makes of it have fixed names.

    So there can be one in a cluster.
    """

    spec: CcRuntimeSpec | None = Field(default=None, description="what is to be installed, and where")
    status: CcRuntimeStatus | None = Field(default=None, description="what the operator found")
