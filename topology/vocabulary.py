"""What a claim can say of a server: the groups that the driver's attributes tell apart, checked value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topology.assumptions import PCIE_ROOT, UB_RING, assume
from topology.classes import chip_class
from topology.devices import Value, attributes
from topology.errors import TopologyError
from topology.model import Server
from topology.orders import Order, slice_order
from topology.placements import Placement, numa_partition
from topology.profiles import DriverProfile
from topology.promise import Keeps


@dataclass(frozen=True)
class Attribute:
    """name: as in a slice. rests_on: the assumptions without which its values would not be known."""

    name: str
    rests_on: frozenset[str]


@dataclass(frozen=True)
class Vocabulary:
    """known: NPU id → attribute → value, the unknowns filled by the default assumptions, which are in `assumed`."""

    server: Server
    profile: DriverProfile
    device_class: str
    known: Mapping[int, Mapping[str, Value]]
    assumed: Mapping[str, str]

    @classmethod
    def of(cls, server: Server, profile: DriverProfile) -> Vocabulary:
        full = assume(server)
        chips = {npu.chip for npu in full.npus}
        chip = chips.pop() if len(chips) == 1 else None
        return cls(server, profile, chip_class(profile, chip), attributes(full, profile), full.assumptions)

    @property
    def key(self) -> tuple[object, ...]:
        """All that a form may depend on: equal keys, equal forms."""
        known = tuple((id, tuple(sorted(values.items()))) for id, values in self.known.items())
        nodes = numa_partition(self.server)
        split = tuple(nodes.items()) if nodes is not None else None
        return (self.profile, self.device_class, known, split, tuple(self.assumed.items()), self.order)

    @property
    def order(self) -> Order:
        """The NPUs as the driver lists them in its slice."""
        return slice_order(self.server, self.profile.order)

    def attribute(self, keeps: Keeps) -> Attribute:
        """The attribute whose equal values make the groups of `keeps`. TopologyError where the driver has none."""
        spelled, assumption = {
            Keeps.ONE_RING: (self.profile.ring, UB_RING),
            Keeps.ONE_SWITCH: (self.profile.pcie_root, PCIE_ROOT),
            Keeps.ONE_NUMA: (self.profile.numa, None),
            Keeps.WHOLE_DIES: (self.profile.sio, None),
        }[keeps]
        if spelled is None:
            raise TopologyError(
                f"the driver profile {self.profile.name} publishes nothing that tells {keeps} apart.",
                remedy="Use a driver that publishes topology.",
            )
        return Attribute(spelled, frozenset({assumption} & set(self.assumed)) if assumption else frozenset())

    def classes(self, attributes: Sequence[Attribute]) -> list[frozenset[int]]:
        """The NPUs by equal values of all the attributes; who lacks one is in none, as no constraint accepts it."""
        found: dict[tuple[Value, ...], set[int]] = {}
        for id, values in self.known.items():
            if all(attribute.name in values for attribute in attributes):
                found.setdefault(tuple(values[attribute.name] for attribute in attributes), set()).add(id)
        return [frozenset(members) for members in found.values()]

    def pools(self, placement: Placement) -> list[Attribute]:
        """The attributes that make the placement's pools. TopologyError where their values split the NPUs otherwise."""
        found = [
            self.attribute(keeps)
            for keeps in (Keeps.ONE_RING, Keeps.ONE_SWITCH, Keeps.ONE_NUMA)
            if keeps in placement.keeps
        ]
        fitting = {members for members in self.classes(found) if len(members) >= placement.count}
        if found and fitting != set(placement.pools):
            raise self._mismatch(found, placement)
        return found

    def units(self, placement: Placement) -> Attribute:
        """The attribute that makes the placement's units. TopologyError as for pools."""
        for keeps, told_by in _UNITS.items():
            if keeps in placement.keeps:
                found = self.attribute(told_by)
                whole = {members for members in self.classes([found]) if len(members) >= placement.unit_size}
                if whole != set(placement.units):
                    raise self._mismatch([found], placement)
                return found
        raise ValueError(f"{placement.shape} has no units of several NPUs")

    def quads(self) -> Attribute | None:
        """The attribute of quads, where the driver publishes it and all NPUs are in one."""
        if self.profile.quad is None or any(self.profile.quad not in values for values in self.known.values()):
            return None
        return Attribute(self.profile.quad, frozenset())

    def cells(self) -> tuple[list[Attribute], list[frozenset[int]]]:
        """The finest groups with a name: rings by NUMA node. Empty where the driver or the server has not both."""
        if self.profile.ring is None or self.profile.numa is None or numa_partition(self.server) is None:
            return [], []
        found = [self.attribute(Keeps.ONE_RING), self.attribute(Keeps.ONE_NUMA)]
        classes = self.classes(found)
        if sum(map(len, classes)) != len(self.known):
            return [], []
        return found, sorted(classes, key=min)

    def telling(self) -> list[Attribute]:
        """All attributes by which groups can be told apart on this server."""
        kinds = (Keeps.ONE_RING, Keeps.ONE_SWITCH, Keeps.ONE_NUMA, Keeps.WHOLE_DIES)
        spelled = (self.profile.ring, self.profile.pcie_root, self.profile.numa, self.profile.sio)
        found = [self.attribute(keeps) for keeps, name in zip(kinds, spelled, strict=True) if name is not None]
        return [attribute for attribute in found if self.classes([attribute])]

    def _mismatch(self, attributes: Sequence[Attribute], placement: Placement) -> TopologyError:
        names = " and ".join(attribute.name for attribute in attributes)
        return TopologyError(
            f"equal {names} does not mean what {placement.shape} promises on {self.server.name}: "
            "the values known of its NPUs split them otherwise.",
            remedy="A driver that publishes the group itself is needed.",
        )


_UNITS = {
    Keeps.MIRRORED: Keeps.ONE_SWITCH,
    Keeps.WHOLE_RINGS: Keeps.ONE_RING,
    Keeps.WHOLE_DIES: Keeps.WHOLE_DIES,
}
