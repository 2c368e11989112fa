"""`ringfence:ring.driver`: how the NPU DRA driver is installed. Without the section, someone else installs it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from settings.section import Section, refused
from settings.values import HostPath, Image, Labels, Namespace, NodeShare, Quantities, Text

RESERVED = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


class Toleration(Section):
    """As in a pod. A toleration without a key tolerates every taint and needs `operator: Exists`."""

    key: Text | None = Field(default=None, description="the taint's key")
    operator: Literal["Exists", "Equal"] = Field(default="Equal", description="Exists or Equal")
    value: str | None = Field(default=None, description="the taint's value, for Equal")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="the taint's effect; without it, every effect"
    )

    @model_validator(mode="after")
    def _whole(self) -> Toleration:
        if self.operator == "Exists" and self.value is not None:
            raise refused("operator Exists asks for no value.", "Remove value, or write operator: Equal.")
        if self.operator == "Equal" and self.key is None:
            raise refused("operator Equal needs a key.", "Add key, or write operator: Exists to tolerate every taint.")
        return self


class Resources(Section):
    """As in a container. Quantities in the form in which the API server keeps them."""

    requests: Quantities = Field(default_factory=dict, description="cpu and memory that are set aside")
    limits: Quantities = Field(default_factory=dict, description="cpu and memory that may not be exceeded")


def _own(value: str) -> str:
    if value in RESERVED:
        raise refused(
            f"{value} belongs to the cluster, and removing the stack would remove it.",
            "Give the driver a namespace of its own, such as npu-dra-driver.",
        )
    return value


def _somewhere(value: dict[str, str]) -> dict[str, str]:
    if not value:
        raise refused(
            "selects every node, also those without an NPU, where the driver cannot start.",
            "Write a label that only your NPU nodes carry.",
        )
    return value


class Driver(Section):
    """Defaults are those of openFuyao's driver since 2026-08, where they are known (see components.npu_dra_driver)."""

    image: Image = Field(description="the driver's image, best by digest")
    node_selector: Annotated[Labels, AfterValidator(_somewhere)] = Field(
        description="labels of the nodes that have NPUs"
    )
    install: bool = Field(default=True, description="false leaves the driver out and keeps the section")
    namespace: Annotated[Namespace, AfterValidator(_own)] = Field(
        default="npu-dra-driver", description="a namespace of the driver's own; the stack creates it"
    )
    image_pull_policy: Literal["IfNotPresent", "Always", "Never"] = Field(
        default="IfNotPresent", description="IfNotPresent, Always or Never"
    )
    image_pull_secrets: tuple[Text, ...] = Field(
        default=(), description="names of Secrets in the driver's namespace that open the registry"
    )
    tolerations: tuple[Toleration, ...] = Field(default=(), description="taints of the NPU nodes")
    priority_class_name: Text = Field(
        default="system-node-critical", description="a PriorityClass; a node's devices are of no use without its driver"
    )
    critical_pod_quota: int | None = Field(
        default=None,
        ge=1,
        description="pods of that priority which the namespace may hold; some clusters refuse it without such a quota",
    )
    resources: Resources = Field(default_factory=Resources, description="requests and limits of the container")
    max_unavailable: NodeShare = Field(
        default=1, description="nodes whose driver may be down at once during an update: a number or a percentage"
    )
    health_port: int | None = Field(
        default=None, ge=1024, le=65535, description="port of the driver's gRPC health service; without it, no probes"
    )
    args: tuple[Text, ...] = Field(default=(), description="arguments of the driver's own, such as --share-count=4")
    env: dict[str, str] = Field(default_factory=dict, description="environment variables of the driver's own")
    host_paths: tuple[HostPath, ...] = Field(
        default=(), description="further paths of the host that the driver reads, mounted read-only"
    )
    kubelet_root: HostPath = Field(default="/var/lib/kubelet", description="the kubelet's --root-dir")
    cdi_root: HostPath = Field(default="/var/run/cdi", description="where the container runtime reads CDI specs")
    rollout_timeout: int = Field(
        default=0,
        ge=0,
        description="seconds that `pulumi up` waits until the driver runs on every node; 0 does not wait, so that one "
        "node that is down does not fail the stack",
    )
