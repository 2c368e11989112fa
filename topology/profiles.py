"""How a public NPU driver spells what it publishes. Data, because the drivers differ and none asks another.

Only the openFuyao driver (since its release of 2026-08) publishes topology; templates that rest on groups can be met by
no other, so `publishes_topology` decides whether they are made at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from topology.errors import TopologyError

STANDARD_DOMAIN = "resource.kubernetes.io"


@dataclass(frozen=True)
class DriverProfile:
    """One driver's names.

    driver: the DRA driver name, also the domain of its unqualified attributes.
    device_class: the class that every device of the driver falls in.
    device_name: format of a device's name; takes {id}.
    physical_id, chip, pci_bus_id, pcie_root, numa, ring, sio: attribute names as published in a slice
      (a name without a domain belongs to the driver); None where the driver does not publish it.
    memory: the capacity's name, or None.
    quad: groups of two neighbouring pairs (see topology.quads); no public driver publishes them.
    order: how the driver lists its devices, a name in topology.orders.
    """

    name: str
    driver: str
    device_class: str
    device_name: str
    physical_id: str
    chip: str | None
    pci_bus_id: str | None
    pcie_root: str | None
    numa: str | None
    ring: str | None
    sio: str | None
    memory: str | None
    quad: str | None = None
    order: str = "id"

    @property
    def publishes_topology(self) -> bool:
        return self.ring is not None or self.sio is not None or self.pcie_root is not None or self.numa is not None

    def qualified(self, attribute: str) -> str:
        """The name a constraint uses: domain/name (facts: resource.k8s.io/v1, matchAttribute)."""
        return attribute if "/" in attribute else f"{self.driver}/{attribute}"


OPENFUYAO = DriverProfile(
    name="openfuyao",
    driver="npu.huawei.com",
    device_class="npu.huawei.com",
    device_name="npu-{id}",
    physical_id="physicalId",
    chip="chipName",
    pci_bus_id=f"{STANDARD_DOMAIN}/pciBusID",
    pcie_root=f"{STANDARD_DOMAIN}/pcieRoot",
    numa="numaNode",
    ring="topoHccsRingID",
    sio="topoSioID",
    memory="memCapacity",
)

RINGFENCE = replace(
    OPENFUYAO,
    name="ringfence",
    quad="npu.ringfence.dev/quadID",
)
"""Our own driver, to come: it speaks as openFuyao's does, so that templates for that are met by this, and says more.

By id: of the orders tried it breaks the fewest rings and is the cheapest for 2, 4, 8 and 16 NPUs of a Box16; others are
cheaper for 10 to 14 only (docs/proofs.md, docs/fragmentation.md).
"""

MINDCLUSTER = DriverProfile(
    name="mindcluster",
    driver="npu.huawei.com",
    device_class="npu.huawei.com",
    device_name="ascend910-{id}",
    physical_id="physicId",
    chip="deviceType",
    pci_bus_id=None,
    pcie_root=None,
    numa=None,
    ring=None,
    sio=None,
    memory=None,
)

HAMI = DriverProfile(
    name="hami",
    driver="ascend.project-hami.io",
    device_class="ascend.project-hami.io",
    device_name="npu-{id}-0",
    physical_id="physicalID",
    chip="model",
    pci_bus_id=None,
    pcie_root=None,
    numa=None,
    ring=None,
    sio=None,
    memory="memory",
)

PROFILES: Mapping[str, DriverProfile] = MappingProxyType(
    {
        "openfuyao": OPENFUYAO,
        # The same driver set to the name that Kubernetes 1.37 made a standard (KEP-6072).
        "openfuyao-standard-numa": replace(
            OPENFUYAO, name="openfuyao-standard-numa", numa=f"{STANDARD_DOMAIN}/numaNode"
        ),
        "ringfence": RINGFENCE,
        "mindcluster": MINDCLUSTER,
        "hami": HAMI,
    }
)


def profile(name: str) -> DriverProfile:
    """The profile of that name. TopologyError names the ones there are."""
    try:
        return PROFILES[name]
    except KeyError:
        raise TopologyError(
            f"there is no driver profile {name!r}.", remedy=f"Write one of: {', '.join(PROFILES)}."
        ) from None


def richer(of: DriverProfile) -> Iterator[tuple[str, DriverProfile]]:
    """(what the driver might publish to make claims cheaper, its profile if it did), for what it does not publish yet.

    Only to be told of: no public driver publishes these.
    """
    if of.quad is None and of.publishes_topology:
        yield "a group of four (two neighbouring pairs)", replace(of, quad="quadID")
