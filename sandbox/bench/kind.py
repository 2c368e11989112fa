"""The server kind that is measured: one server's wiring, published by as many simulated nodes as are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from topology.assumptions import assume
from topology.claims import compile_templates
from topology.classes import DeviceClass, chip_class, device_classes
from topology.devices import Value, attributes
from topology.groups import groups, members
from topology.model import Server
from topology.profiles import DriverProfile
from topology.template import Template


class Order(StrEnum):
    """In which order a slice lists its devices, which is the order the scheduler tries them in."""

    BY_ID = "id"
    PARTNERS = "partners"


@dataclass(frozen=True)
class Kind:
    """server: its unknowns assumed. profile: the driver that publishes it."""

    server: Server
    profile: DriverProfile

    @classmethod
    def of(cls, server: Server, profile: DriverProfile) -> Kind:
        return cls(assume(server), profile)

    @cached_property
    def known(self) -> Mapping[int, Mapping[str, Value]]:
        """NPU id → attribute name as in the slice → value."""
        return attributes(self.server, self.profile)

    @cached_property
    def pairs(self) -> tuple[frozenset[int], ...]:
        """PIX partners, in the order of their smallest id."""
        return members(groups(self.server).pix)

    @cached_property
    def device_class(self) -> str:
        """The class that compiled templates ask for."""
        chips = {npu.chip for npu in self.server.npus}
        return chip_class(self.profile, chips.pop() if len(chips) == 1 else None)

    @cached_property
    def classes(self) -> tuple[DeviceClass, ...]:
        return device_classes([self.server], self.profile)

    @cached_property
    def templates(self) -> Mapping[int, Template]:
        """Count → the tightest compiled template for it."""
        found: dict[int, Template] = {}
        for template in compile_templates(self.server, self.profile, relaxed=False):
            found.setdefault(template.count, template)
        return found

    def ordered(self, order: Order) -> tuple[int, ...]:
        """The NPUs as a slice of that order lists them; who has no partner comes last."""
        if order is Order.BY_ID:
            return self.server.ids
        paired = [id for pair in self.pairs for id in sorted(pair)]
        return (*paired, *(id for id in self.server.ids if id not in paired))
