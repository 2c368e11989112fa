"""Which NPUs belong together, as connected components of the relations that both directions agree on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import networkx as nx

from topology.model import Relation, Server

RING = frozenset({Relation.HCCS, Relation.UB})

Partition = Mapping[int, int | None]
"""NPU id → number of its group, None for an NPU in no group."""


@dataclass(frozen=True)
class Groups:
    """Partitions of a server's NPUs; groups are numbered from 0 in the order of their smallest member.

    ring: HCCS, or UB on a 950; a component, because on 910A two NPUs of a ring on one NUMA node print PHB.
    sio: the dies of a module. pix, phb: below one PCIe switch, below one host bridge.
    numa: equal CPU affinity; unlike the others an NPU alone on its node is a group too.
    """

    ring: Partition
    sio: Partition
    pix: Partition
    phb: Partition
    numa: Partition


def groups(server: Server) -> Groups:
    """The groups that the relations and the affinity of a server make."""
    return Groups(
        ring=_components(server, RING),
        sio=_components(server, {Relation.SIO}),
        pix=_components(server, {Relation.PIX}),
        phb=_components(server, {Relation.PHB}),
        numa=_by_affinity(server),
    )


def members(partition: Partition) -> tuple[frozenset[int], ...]:
    """The groups of a partition as sets of ids, in the order of their numbers."""
    sets: dict[int, set[int]] = {}
    for id, number in partition.items():
        if number is not None:
            sets.setdefault(number, set()).add(id)
    return tuple(frozenset(sets[number]) for number in sorted(sets))


def _components(server: Server, links: Collection[Relation]) -> Partition:
    graph: nx.Graph[int] = nx.Graph()
    ids = server.ids
    for i, a in enumerate(ids):
        for j, b in enumerate(ids[:i]):
            if server.relations[i][j] in links and server.relations[i][j] is server.relations[j][i]:
                graph.add_edge(a, b)
    found = sorted(nx.connected_components(graph), key=min)
    number = {id: n for n, component in enumerate(found) for id in component}
    return {id: number.get(id) for id in ids}


def _by_affinity(server: Server) -> Partition:
    numbers: dict[str, int] = {}
    for npu in sorted(server.npus, key=lambda npu: npu.id):
        if npu.affinity is not None:
            numbers.setdefault(npu.affinity, len(numbers))
    return {npu.id: None if npu.affinity is None else numbers[npu.affinity] for npu in server.npus}
