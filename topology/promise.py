"""What a template's name promises of the NPUs it yields, and whether a set of them keeps it.

Judged by the relations and CPU lists themselves, with none of the code that computes groups, attributes or placements,
so that a mistake there cannot excuse itself here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from topology.model import Relation, Server


class Keeps(StrEnum):
    """One thing a set of NPUs can keep; the value is how it is said to people."""

    ONE_RING = "one ring"
    ONE_SWITCH = "one PCIe switch"
    ONE_NUMA = "one NUMA node"
    MIRRORED = "mirrored pairs"
    EVEN_RINGS = "rings evenly"
    WHOLE_RINGS = "whole rings"
    WHOLE_DIES = "whole dies"
    WHOLE_SERVER = "whole server"


@dataclass(frozen=True)
class Promise:
    """count NPUs that keep all of `keeps`; empty: any NPUs of the server."""

    count: int
    keeps: tuple[Keeps, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.keeps) if self.keeps else "any"


def broken(server: Server, ids: Collection[int], promise: Promise) -> tuple[str, ...]:
    """What of the promise the NPUs do not keep, a sentence each; empty where they keep it all."""
    chosen = sorted(set(ids))
    strangers = [id for id in chosen if id not in server.ids]
    if strangers:
        return (f"the server has no NPU {strangers}",)
    found = []
    if len(ids) != promise.count or len(chosen) != promise.count:
        found.append(f"{promise.count} NPUs were promised, {len(chosen)} given")
    for kept in promise.keeps:
        problem = _CHECKS[kept](server, chosen)
        if problem:
            found.append(f"{kept}: {problem}")
    return tuple(found)


def _linked(server: Server, a: int, relations: frozenset[Relation]) -> frozenset[int]:
    """The NPUs that a reaches over links of these kinds, itself included."""
    reached, edge = {a}, [a]
    while edge:
        here = edge.pop()
        for other in server.ids:
            if other in reached or server.relation(here, other) not in relations:
                continue
            if server.relation(here, other) is server.relation(other, here):
                reached.add(other)
                edge.append(other)
    return frozenset(reached)


_RING_LINKS = frozenset({Relation.HCCS, Relation.UB})


def _ring(server: Server, a: int) -> frozenset[int]:
    return _linked(server, a, _RING_LINKS)


def _one_ring(server: Server, ids: list[int]) -> str:
    outside = set(ids) - _ring(server, ids[0])
    return f"{sorted(outside)} outside the ring of {ids[0]}" if outside else ""


def _one_switch(server: Server, ids: list[int]) -> str:
    outside = set(ids) - _linked(server, ids[0], frozenset({Relation.PIX}))
    return f"{sorted(outside)} not below the PCIe switch of {ids[0]}" if outside else ""


def _one_numa(server: Server, ids: list[int]) -> str:
    # The kernel's number where pci.txt gave it for all: the tool's CPU list says node 0 where it does not know.
    numbers = {server.npu(id).numa_node for id in ids}
    places: set[object] = {*numbers} if None not in numbers else {server.npu(id).affinity for id in ids}
    if None in places:
        return "the NUMA node of some is unknown"
    return f"they are on {len(places)} NUMA nodes" if len(places) > 1 else ""


def _mirrored(server: Server, ids: list[int]) -> str:
    uneven = _even_rings(server, ids)
    if uneven:
        return uneven
    for id in ids:
        partners = [other for other in ids if other != id and server.relation(id, other) is Relation.PIX]
        if len(partners) != 1:
            return f"{id} has {len(partners)} PIX partners among them"
        if partners[0] in _ring(server, id):
            return f"{id} and its partner {partners[0]} are in one ring"
    return ""


def _even_rings(server: Server, ids: list[int]) -> str:
    rings: dict[frozenset[int], int] = {_ring(server, id): 0 for id in server.ids}
    for id in ids:
        rings[_ring(server, id)] += 1
    counts = [count for count in rings.values() if count]
    if len(set(counts)) > 1:
        return f"the rings gave {' and '.join(map(str, counts))}"
    return ""


def _whole_rings(server: Server, ids: list[int]) -> str:
    missing = {other for id in ids for other in _ring(server, id)} - set(ids)
    return f"{sorted(missing)} of the same rings missing" if missing else ""


def _whole_dies(server: Server, ids: list[int]) -> str:
    modules = {id: _linked(server, id, frozenset({Relation.SIO})) for id in ids}
    single = [id for id, module in modules.items() if len(module) == 1]
    if single:
        return f"{single} without a second die"
    missing = frozenset().union(*modules.values()) - set(ids)
    return f"{sorted(missing)} of the same modules missing" if missing else ""


def _whole_server(server: Server, ids: list[int]) -> str:
    missing = set(server.ids) - set(ids)
    return f"{sorted(missing)} missing" if missing else ""


_CHECKS = {
    Keeps.ONE_RING: _one_ring,
    Keeps.ONE_SWITCH: _one_switch,
    Keeps.ONE_NUMA: _one_numa,
    Keeps.MIRRORED: _mirrored,
    Keeps.EVEN_RINGS: _even_rings,
    Keeps.WHOLE_RINGS: _whole_rings,
    Keeps.WHOLE_DIES: _whole_dies,
    Keeps.WHOLE_SERVER: _whole_server,
}
