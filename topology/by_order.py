"""What claims cost by the order in which a driver lists its devices, for drivers where that is ours to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from topology.forms.choose import Figures, choose, figures
from topology.forms.measure import Measure
from topology.model import Server
from topology.orders import ORDERS, slice_order
from topology.placements import choices
from topology.profiles import DriverProfile
from topology.vocabulary import Vocabulary


@dataclass(frozen=True)
class Ordered:
    """names: of orders that are the same on the server. costs: in the order of the counts asked for."""

    names: tuple[str, ...]
    costs: tuple[Figures, ...]


def by_order(server: Server, profile: DriverProfile, counts: Sequence[int]) -> tuple[Ordered, ...]:
    """The tightest template of each count under every order. TopologyError where the driver cannot say one."""
    names: dict[tuple[int, ...], list[str]] = {}
    for name in ORDERS:
        names.setdefault(slice_order(server, name), []).append(name)
    tiers = {choice.count: choice.tiers[0] for choice in choices(server)}
    found = []
    for same in names.values():
        vocabulary = Vocabulary.of(server, replace(profile, order=same[0]))
        costs = [figures(choose(vocabulary, tiers[n]), Measure(vocabulary, tiers[n])) for n in counts]
        found.append(Ordered(tuple(same), tuple(costs)))
    return tuple(found)
