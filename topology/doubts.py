"""What in a matrix contradicts itself: told as warnings, or as faults where the picture is that of a broken server."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from topology.groups import groups, members
from topology.model import Relation, Server

# On 910A quads two NPUs of a ring on one NUMA node print PHB although the link is there; larger rings do not do this.
_QUAD = 4


def doubts(server: Server, legend: Collection[str] = ()) -> Server:
    """The server with warnings and faults added. legend: the relations its capture's legend explains."""
    warnings = [
        *_one_sided(server),
        *_unknown(server),
        *_one_affinity(server),
        *_holes_in_rings(server),
        *_odd_modules(server),
        *_places(server),
    ]
    isolated = _isolated(server)
    faults: list[str] = []
    if isolated and "UB" not in legend:
        faults.append(
            f"every pair of the {len(server.npus)} NPUs is SYS: they look isolated by their management controller "
            "or run in a virtual machine; no group can be built on this."
        )
    elif isolated:
        warnings.append(
            "every pair is SYS: right for 1P cards without links; on a server with UB links, they are down."
        )
    return replace(server, warnings=(*server.warnings, *warnings), faults=(*server.faults, *faults))


def _pairs(server: Server) -> Iterator[tuple[int, int]]:
    size = len(server.npus)
    return ((i, j) for i in range(size) for j in range(i + 1, size))


def _name(server: Server, i: int) -> str:
    return f"{server.label}{server.npus[i].id}"


def _one_sided(server: Server) -> Iterator[str]:
    for i, j in _pairs(server):
        there, back = server.relations[i][j], server.relations[j][i]
        if there is not back:
            a, b = _name(server, i), _name(server, j)
            yield f"{a} to {b} reads {there}, {b} to {a} reads {back}: a link may be half down; it joins no group."


def _unknown(server: Server) -> Iterator[str]:
    for i, j in _pairs(server):
        if Relation.NA in (server.relations[i][j], server.relations[j][i]):
            yield f"{_name(server, i)} and {_name(server, j)} read NA: the tool could not tell; it joins nothing."


def _one_affinity(server: Server) -> Iterator[str]:
    lists = {npu.affinity for npu in server.npus}
    if len(server.npus) > 1 and len(lists) == 1 and None not in lists:
        yield (
            f"all NPUs print one CPU affinity, {lists.pop()}: the tool prints node 0 for a NUMA node it does not know, "
            "so this may be no affinity at all. pci.txt tells."
        )


def _isolated(server: Server) -> bool:
    pairs = list(_pairs(server))
    return bool(pairs) and all(
        server.relations[i][j] is Relation.SYS and server.relations[j][i] is Relation.SYS for i, j in pairs
    )


def _holes_in_rings(server: Server) -> Iterator[str]:
    made = groups(server)
    sizes = {len(ring) for ring in members(made.ring)}
    for i, j in _pairs(server):
        a, b = server.npus[i], server.npus[j]
        ring = made.ring[a.id]
        relation = server.relations[i][j]
        if ring is None or ring != made.ring[b.id] or relation in (Relation.HCCS, Relation.UB, Relation.NA):
            continue
        size = sum(1 for number in made.ring.values() if number == ring)
        expected = relation is Relation.PHB and a.affinity == b.affinity and size <= _QUAD
        if not expected and relation is server.relations[j][i]:
            yield (
                f"{_name(server, i)} and {_name(server, j)} are in one ring, but read {relation}: "
                "the link between them may be down."
            )
    if len(sizes) > 1:
        yield f"the rings have {' and '.join(map(str, sorted(sizes)))} NPUs; those of one server should be equal."
    if sizes:
        alone = [f"{server.label}{id}" for id, number in made.ring.items() if number is None]
        if alone:
            yield f"{', '.join(alone)} in no ring, while others are: the links may be down."


def _odd_modules(server: Server) -> Iterator[str]:
    made = groups(server)
    modules = members(made.sio)
    for module in modules:
        if len(module) != 2:
            yield f"{len(module)} dies share one SIO group; a module has two."
    if modules:
        alone = [f"{server.label}{id}" for id, number in made.sio.items() if number is None]
        if alone:
            yield f"{', '.join(alone)} without the other die of the module: a container's view, or a broken die."


def _places(server: Server) -> Iterator[str]:
    """Where pci.txt contradicts the matrix. The kernel's word on a node is the one that is used."""
    made = groups(server)
    nodes: dict[str, set[int]] = {}
    for npu in server.npus:
        if npu.affinity is not None and npu.numa_node is not None:
            nodes.setdefault(npu.affinity, set()).add(npu.numa_node)
    for affinity, numbers in nodes.items():
        if len(numbers) > 1:
            listed = ", ".join(map(str, sorted(numbers)))
            yield f"CPU affinity {affinity} is printed for NUMA nodes {listed} of pci.txt: one of them is not true."
    for group in members(made.pix):
        roots = {server.npu(id).pcie_root for id in group} - {None}
        if len(roots) > 1:
            listed = ", ".join(sorted(str(root) for root in roots))
            yield f"NPUs {sorted(group)} are PIX, below one switch, but pci.txt puts them below {listed}."
