"""Quads: two neighbouring pairs each, of the pairs on one NUMA node. A group of four as other vendors' drivers publish.

Partners stay whole in a quad, so a claim for many pairs can ask for some of them four NPUs at a time.
"""

from __future__ import annotations

from topology.groups import Partition, groups, members
from topology.model import Server
from topology.placements import numa_partition


def quads(server: Server) -> Partition:
    """NPU id → number of its quad; None where pairs do not make quads: not all NPUs are paired, or a node has an odd
    number of pairs.
    """
    made = groups(server)
    pairs = sorted(members(made.sio) or members(made.pix), key=min)
    numa = numa_partition(server)
    nodes = members(numa) if numa is not None else (frozenset(server.ids),)
    by_node = [[pair for pair in pairs if pair <= node] for node in nodes]
    whole = all(len(pair) == 2 for pair in pairs) and 2 * sum(map(len, by_node)) == len(server.ids)
    if not whole or any(len(inside) % 2 for inside in by_node):
        return dict.fromkeys(server.ids)
    pairwise = [inside[i] | inside[i + 1] for inside in by_node for i in range(0, len(inside), 2)]
    number = {id: n for n, quad in enumerate(sorted(pairwise, key=min)) for id in quad}
    return {id: number[id] for id in server.ids}
