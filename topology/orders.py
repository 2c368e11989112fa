"""Orders in which a driver may list a server's NPUs in its slice; the scheduler tries devices in that order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from types import MappingProxyType

from topology.errors import TopologyError
from topology.groups import Partition, groups, members
from topology.model import Server
from topology.placements import numa_partition

Order = tuple[int, ...]
"""Ids of NPUs as listed in the slice, the first tried first."""


def slice_order(server: Server, name: str) -> Order:
    """The order of that name. TopologyError names the ones there are."""
    try:
        return ORDERS[name](server)
    except KeyError:
        raise TopologyError(
            f"there is no device order {name!r}.", remedy=f"Write one of: {', '.join(ORDERS)}."
        ) from None


def _number(partition: Partition | None, id: int) -> int:
    """The group's number; NPUs in none come last."""
    number = partition[id] if partition is not None else None
    return len(partition or ()) if number is None else number


def _by_id(server: Server) -> Order:
    return tuple(sorted(server.ids))


def _pairs(server: Server) -> Order:
    """Dies of a module, or NPUs below one switch, next to each other."""
    made = groups(server)
    units = members(made.sio) or members(made.pix)
    first = {id: min(unit) for unit in units for id in unit}
    return tuple(sorted(server.ids, key=lambda id: (first.get(id, id), id)))


def _numa(server: Server) -> Order:
    """NUMA node by NUMA node, in each ring by ring."""
    nodes, rings = numa_partition(server), groups(server).ring
    return tuple(sorted(server.ids, key=lambda id: (_number(nodes, id), _number(rings, id), id)))


def _quarters(server: Server) -> Order:
    """Ring by ring, in each NUMA node by NUMA node."""
    nodes, rings = numa_partition(server), groups(server).ring
    return tuple(sorted(server.ids, key=lambda id: (_number(rings, id), _number(nodes, id), id)))


def _rings(server: Server) -> list[list[int]]:
    found = [sorted(ring) for ring in members(groups(server).ring)]
    return found or [sorted(server.ids)]


def _rest(server: Server, listed: list[int]) -> Order:
    return (*listed, *sorted(set(server.ids) - set(listed)))


def _interleaved(server: Server) -> Order:
    """The first of each ring, the second of each ring, and so on."""
    return _rest(server, [id for row in zip_longest(*_rings(server)) for id in row if id is not None])


def _opposed(server: Server) -> Order:
    """Every other ring from its far end, so that what is left of two rings are not each other's partners."""
    return _rest(server, [id for n, ring in enumerate(_rings(server)) for id in (ring[::-1] if n % 2 else ring)])


def _scattered(server: Server) -> Order:
    """The first of each quarter, the second of each, and so on: the order to do badly with."""
    nodes, rings = numa_partition(server), groups(server).ring
    quarters: dict[tuple[int, int], list[int]] = {}
    for id in sorted(server.ids):
        quarters.setdefault((_number(rings, id), _number(nodes, id)), []).append(id)
    return tuple(id for row in zip_longest(*quarters.values()) for id in row if id is not None)


ORDERS: Mapping[str, Callable[[Server], Order]] = MappingProxyType(
    {
        "id": _by_id,
        "quarters": _quarters,
        "numa": _numa,
        "pairs": _pairs,
        "interleaved": _interleaved,
        "opposed": _opposed,
        "scattered": _scattered,
    }
)
