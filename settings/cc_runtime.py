"""`ccRuntime` of the stack file: which nodes run confidential containers, with which images and runtime classes."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from settings.cc_presets import OWNED_ENV, PRESETS, Preset, PresetName, RuntimeClass
from settings.driver import Toleration
from settings.section import Section, refused
from settings.values import ENV_NAME, QUALIFIED_NAME, Image, NodeName, is_qualified

_ANNOTATION = re.compile(r"[a-z][a-z0-9_]*")
_KUBELET_MAY_NOT = "node-role.kubernetes.io/"


def _some(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise refused(
            "names no node: the operator would install nothing, and say nothing.",
            "Name the nodes that are to run confidential containers.",
        )
    return value


def _key(value: str) -> str:
    if not is_qualified(value):
        raise refused(f"{value!r} cannot be a label's key.", "Write name or domain/name.")
    if value.startswith(("katacontainers.io/", "confidentialcontainers.org/")):
        raise refused(
            f"{value} belongs to the installers, which count nodes by it.", "Use a label that nothing else sets."
        )
    return value


def _value(value: str) -> str:
    if value and not QUALIFIED_NAME.fullmatch(value):
        raise refused(f"{value!r} cannot be the value of a label.", "Use up to 63 letters, digits, -, _ and dots.")
    return value


def _class(value: str) -> str:
    if not re.fullmatch(r"kata-[a-z0-9]([-a-z0-9]{0,57}[a-z0-9])?", value):
        raise refused(
            f"{value!r} is no runtime class that kata-deploy can make.",
            "Write kata- and the name of a shim, such as kata-qemu-virtcca.",
        )
    return value


def _annotation(value: str) -> str:
    if not _ANNOTATION.fullmatch(value):
        raise refused(
            f"{value!r} is not the name of a hypervisor annotation.",
            "Write what follows io.katacontainers.config.hypervisor., such as kernel_params.",
        )
    return value


def _env(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if not ENV_NAME.fullmatch(name):
            raise refused(f"{name!r} cannot be an environment variable.", "Use letters, digits and _.")
        if name in OWNED_ENV:
            raise refused(
                f"{name} is computed from other keys, and the last value given to the installers wins.",
                f"Remove it{_instead(name)}.",
            )
    return value


def _instead(name: str) -> str:
    keys = {
        "AGENT_HTTPS_PROXY": "guestHttpsProxy",
        "AGENT_NO_PROXY": "guestNoProxy",
        "ALLOWED_HYPERVISOR_ANNOTATIONS": "allowedHypervisorAnnotations",
        "DEBUG": "debug",
        "DEFAULT_SHIM": "defaultRuntimeClass",
        "CREATE_DEFAULT_RUNTIMECLASS": "defaultRuntimeClass",
        "NODE_NAME": "",
    }
    key = keys.get(name, "runtimeClasses")
    return f" and write {key}" if key else ""


def _proxy(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+/?", value):
        raise refused(
            f"{_without_password(value)!r} is no proxy.",
            "Write http://host:port, without a password: the host reads all of it.",
        )
    return value


def _without_password(value: str) -> str:
    return re.sub(r"//[^/@]*@", "//…@", value)


def _host(value: str) -> str:
    if not value or re.search(r"[\s,]", value) or "://" in value:
        raise refused(f"{value!r} is no host, domain or network.", "Write one for each entry, such as .example.org.")
    return value


def _dead(remedy: str) -> Any:
    """For a key that people know from the CcRuntime and that the operator does not read."""

    def refuse(_: Any) -> Any:
        raise refused("the operator 0.13.0 does not look at it.", remedy)

    return BeforeValidator(refuse)


RuntimeClassName = Annotated[str, AfterValidator(_class)]
Proxy = Annotated[str, AfterValidator(_proxy)]
Host = Annotated[str, AfterValidator(_host)]


class NodeLabel(Section):
    """The label and the CcRuntime's selector are written from this, so they cannot differ."""

    key: Annotated[str, AfterValidator(_key)] = Field(
        default="node.kubernetes.io/worker", description="the label's key"
    )
    value: Annotated[str, AfterValidator(_value)] = Field(default="", description='the label\'s value, usually ""')

    @model_validator(mode="after")
    def _settable(self) -> NodeLabel:
        # The label is ours to set, not the kubelet's; but a node that joins again loses what its kubelet may not set.
        if self.key.startswith(_KUBELET_MAY_NOT) and self.value:
            raise refused(
                f"labels of {_KUBELET_MAY_NOT} are roles and have no value.", f"Write another key than {self.key}."
            )
        return self


class RuntimeClassSettings(Section):
    """As in the CcRuntime. The RuntimeClass itself is made by kata-deploy on the nodes."""

    name: RuntimeClassName = Field(description="the class, such as kata-qemu-virtcca")
    snapshotter: Literal["", "nydus", "overlayfs"] = Field(default="", description='"", nydus or overlayfs')
    pulltype: Literal["", "guest-pull"] = Field(default="", description='"" or guest-pull')

    @model_validator(mode="after")
    def _goes_together(self) -> RuntimeClassSettings:
        if self.pulltype == "guest-pull" and self.snapshotter != "nydus":
            raise refused(
                "an image is pulled inside the guest by way of nydus only.",
                "Write snapshotter: nydus, or remove pulltype.",
            )
        return self


class CcRuntimeSettings(Section):
    """One for each cluster: what the operator makes of it has fixed names.

    A change of anything but `nodes` and the timeouts deletes the CcRuntime and makes it anew, on all hosts at once: the
    operator creates its DaemonSets and never updates them.
    """

    preset: PresetName = Field(description="virtcca for Kunpeng, default for what upstream's sample installs")
    payload_image: Image = Field(description="the image of kata-deploy that installs Kata, best by digest")
    pre_install_image: Image = Field(description="the image (reqs-payload) that prepares containerd, best by digest")
    post_uninstall_image: Image | None = Field(
        default=None, description="the image that undoes the preparation; without it, that of preInstallImage"
    )
    nodes: Annotated[tuple[NodeName, ...], AfterValidator(_some)] = Field(
        description="names of the nodes that run confidential containers; the stack labels them"
    )
    node_label: NodeLabel = Field(
        default_factory=NodeLabel, description="the label that the stack gives these nodes and the operator looks for"
    )
    tolerations: tuple[Toleration, ...] = Field(default=(), description="taints of these nodes, for the installers")
    runtime_classes: tuple[RuntimeClassSettings, ...] = Field(
        default=(), description="the runtime classes to have; without it, those of the preset"
    )
    default_runtime_class: RuntimeClassName | None = Field(
        default=None, description="the class that kata is another name of; without it, the preset's"
    )
    env: Annotated[dict[str, str], AfterValidator(_env)] = Field(
        default_factory=dict, description="further environment variables of the installers"
    )
    guest_https_proxy: Proxy | None = Field(default=None, description="the proxy by which guests pull images")
    guest_no_proxy: tuple[Host, ...] = Field(
        default=(), description="what guests reach without that proxy; the key broker has to be there"
    )
    allowed_hypervisor_annotations: tuple[Annotated[str, AfterValidator(_annotation)], ...] = Field(
        default=(), description="hypervisor annotations that pods may use besides those that the runtime allows anyway"
    )
    debug: bool = Field(default=False, description="whether Kata logs everything, also of the guest")
    image_pull_policy: Literal["IfNotPresent", "Always", "Never"] | None = Field(
        default=None, description="of the installers; without it the operator takes Always"
    )
    wait_timeout: int = Field(
        default=1800, ge=30, description="seconds that `pulumi up` waits until every node is through and Ready again"
    )
    delete_timeout: int = Field(
        default=1800, ge=30, description="seconds that a deletion may take until the operator has restored every host"
    )
    drain_timeout: int = Field(
        default=120, ge=0, description="seconds that a deletion waits for the last pod that runs in a kata VM"
    )
    install_type: Annotated[None, _dead("Remove it; the stack writes what the schema wants.")] = Field(
        default=None, description="not read by the operator"
    )
    image_pull_secret: Annotated[None, _dead("Remove it, and name the Secret in imagePullSecrets of the operator.")] = (
        Field(default=None, description="not read by the operator")
    )
    os_native_repo: Annotated[None, _dead("Remove it.")] = Field(default=None, description="not read by the operator")
    runtime_image: Annotated[None, _dead("Remove it, and name payloadImage.")] = Field(
        default=None, description="not read by the operator"
    )
    guest_kernel_image: Annotated[None, _dead("Remove it; the guest's kernel comes with payloadImage.")] = Field(
        default=None, description="not read by the operator"
    )
    guest_initrd_image: Annotated[None, _dead("Remove it; the guest's image comes with payloadImage.")] = Field(
        default=None, description="not read by the operator"
    )

    @property
    def chosen(self) -> Preset:
        """The preset's data."""
        return PRESETS[self.preset]

    @property
    def classes(self) -> tuple[RuntimeClass, ...]:
        """The runtime classes in force."""
        own = tuple(RuntimeClass(one.name, one.snapshotter, one.pulltype) for one in self.runtime_classes)
        return own or self.chosen.runtime_classes

    @property
    def default_class(self) -> str:
        """The default runtime class in force."""
        return self.default_runtime_class or self.chosen.default_runtime_class

    def guest_annotations(self, runtime_class: str) -> frozenset[str]:
        """The hypervisor annotations that a pod of this class may carry; another one makes its creation fail."""
        return frozenset([*self.chosen.guest_annotations.get(runtime_class, ()), *self.allowed_hypervisor_annotations])
