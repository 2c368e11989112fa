"""What a cluster of a given version, with given feature gates, keeps of what it is sent.

With a gate off the API server removes the field without an error or a warning (pkg/api/resourceclaimspec/util.go), so
what would be lost has to be known before it is sent. The table is pkg/features/kube_features.go of v1.37.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, get_args

Version = Literal["1.34", "1.35", "1.36", "1.37"]
VERSIONS: tuple[str, ...] = get_args(Version)


class Stage(StrEnum):
    """A gate's stage in one version, and whether it is on there by itself."""

    ABSENT = "-"
    ALPHA = "A"
    BETA_OFF = "B-"
    BETA = "B+"
    GA = "G"
    LOCKED = "L"

    @property
    def on(self) -> bool:
        return self in {Stage.BETA, Stage.GA, Stage.LOCKED}


def _row(stages: str) -> tuple[Stage, ...]:
    return tuple(Stage(stage) for stage in stages.split())


GATES: Mapping[str, tuple[Stage, ...]] = MappingProxyType(
    {
        "DynamicResourceAllocation": _row("G L L L"),
        "DRAPrioritizedList": _row("B+ B+ G L"),
        "DRAAdminAccess": _row("B+ B+ L L"),
        "DRAExtendedResource": _row("A A B+ L"),
        "DRADeviceTaints": _row("A A B+ G"),
        "DRADeviceTaintRules": _row("- A B- G"),
        "DRAPartitionableDevices": _row("A A B+ B+"),
        "DRAConsumableCapacity": _row("A A B+ B+"),
        "DRAFractionalCapacityRange": _row("- - - B+"),
        "DRADeviceBindingConditions": _row("A A B+ B+"),
        "DRAResourceClaimDeviceStatus": _row("B+ B+ B+ L"),
        "DRAResourceClaimGranularStatusAuthorization": _row("- - B+ B+"),
        "DRASchedulerFilterTimeout": _row("B+ B+ B+ B+"),
        "DRAListTypeAttributes": _row("- - A A"),
        "DRADerivedAttributes": _row("- - - A"),
        "DRADeviceCompatibilityGroups": _row("- - - A"),
        "DRAPartitionableDevicesType": _row("- - - A"),
        "DRANodeAllocatableResources": _row("- - A A"),
        "DRAOptionalNodeOperations": _row("- - - A"),
        "DRAResourcePoolStatus": _row("- - A A"),
        "DRAWorkloadResourceClaims": _row("- - A B-"),
        "ResourceHealthStatus": _row("A A B+ B+"),
        "ResourceHealthStatusMessage": _row("- - B+ B+"),
        "NodeDeclaredFeatures": _row("- A B+ L"),
        "KubeletPodResourcesDynamicResources": _row("B+ B+ L L"),
        "KubeletPodResourcesGet": _row("B+ B+ L L"),
        "TopologyAwareWorkloadScheduling": _row("- - A A"),
        "OpportunisticBatching": _row("- B+ B+ B+"),
    }
)


def stage(gate: str, version: Version) -> Stage:
    """The gate's stage in that version. KeyError for a gate that is not in the table."""
    return GATES[gate][VERSIONS.index(version)]


@dataclass(frozen=True)
class Capabilities:
    """A cluster of `version` in which the API server, scheduler and kubelets run with `gates` set by hand."""

    version: Version
    gates: Mapping[str, bool]

    def on(self, gate: str) -> bool:
        return self.gates.get(gate, stage(gate, self.version).on)

    def since(self, gate: str) -> str | None:
        """The first version in which the gate is on by itself, or None."""
        return next((version for version, found in zip(VERSIONS, GATES[gate], strict=True) if found.on), None)

    @property
    def prioritized_list(self) -> bool:
        """firstAvailable in a request, which relaxed templates are made of."""
        return self.on("DRAPrioritizedList")

    @property
    def extended_resources(self) -> bool:
        """extendedResourceName in a DeviceClass."""
        return self.on("DRAExtendedResource")

    @property
    def granular_status(self) -> bool:
        """Whether a driver needs `resourceclaims/driver` to write a claim's status (kubernetes/kubernetes#138149)."""
        return self.on("DRAResourceClaimGranularStatusAuthorization")
