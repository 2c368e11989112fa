"""A server as its tools described it: NPUs, the relation of each pair, and what was not said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Relation(StrEnum):
    """How two NPUs reach each other, in npu-smi's words (facts: the legend of `npu-smi info -t topo`).

    The tool prints only the closest relation, so HCCS hides whether two NPUs also share a PCIe switch.
    """

    SELF = "X"
    UB = "UB"
    SIO = "SIO"
    HCCS_SW = "HCCS_SW"
    HCCS = "HCCS"
    PIX = "PIX"
    PXB = "PXB"
    PHB = "PHB"
    SYS = "SYS"
    NA = "NA"


@dataclass(frozen=True)
class Npu:
    """One NPU (on A3 one die). None is unknown: the hardware did not say.

    id: the number in the tool's label (`NPU<id>`, `Phy-ID<id>`).
    affinity: the CPU list as printed, e.g. "0-51,104-155"; equal lists are one NUMA node.
    bus_id: PCI address, lower case, domain:bus:device.function, e.g. "0000:81:00.0".
    memory_mib: device memory (HBM where there is any) in MiB.
    pcie_root: root complex, e.g. "pci0000:80"; numa_node: the node's number as the kernel counts.
    """

    id: int
    affinity: str | None = None
    chip: str | None = None
    bus_id: str | None = None
    memory_mib: int | None = None
    pcie_root: str | None = None
    numa_node: int | None = None


@dataclass(frozen=True)
class Server:
    """A server's NPUs in the order of their ids, and relations[i][j] of npus[i] to npus[j].

    label: what the tool writes before the id ("NPU" or "Phy-ID").
    warnings: sentences on what is doubtful and was not used.
    faults: sentences on why this is the picture of a broken server, not one to schedule on.
    assumptions: key → value of what was assumed and not captured (see topology.assumptions).
    """

    name: str
    label: str
    npus: tuple[Npu, ...]
    relations: tuple[tuple[Relation, ...], ...]
    warnings: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    assumptions: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(npu.id for npu in self.npus)

    def npu(self, id: int) -> Npu:
        """The NPU with the tool's id. KeyError where there is none."""
        for npu in self.npus:
            if npu.id == id:
                return npu
        raise KeyError(id)

    def relation(self, a: int, b: int) -> Relation:
        """The relation of the NPUs with the ids a and b."""
        ids = self.ids
        return self.relations[ids.index(a)][ids.index(b)]
