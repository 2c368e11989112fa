"""Whether changed claims fit: by the replica, and where its search is too long, by counting devices."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import networkx

from topology.allocator import Allocated, Claim, Fatal, TooLong, Unmodelled
from topology.allocator.objects import DeviceId, Request
from topology.explain.candidates import Choices, choices, places
from topology.explain.local import PROBE_CALLS, Local, quick


def fits(local: Local, claims: Sequence[Claim], freed: Collection[int] = frozenset()) -> bool | None:
    """None where that is not known: an error, too long a search, no probes left. freed: places in the holdings."""
    if local.probes <= 0:
        return None
    local.probes -= 1
    try:
        outcome = local.run(quick(claims), PROBE_CALLS, freed)
    except TooLong:
        return False if crowded(local, claims, freed) else None
    except Unmodelled:
        return None
    if isinstance(outcome, Allocated):
        return True
    return None if isinstance(outcome, Fatal) else False


def crowded(local: Local, claims: Sequence[Claim], freed: Collection[int] = frozenset()) -> bool:
    """Whether there are surely too few devices, whatever the constraints: requests and devices cannot be paired off."""
    where = places(local)
    if any(place.device.shareable or place.device.consumes for place in where):
        return False
    chosen = choices(local, claims, where, freed)
    graph: networkx.Graph[object] = networkx.Graph()
    slots = []
    for claim in claims:
        for request in claim.requests:
            ways = [one for one in chosen if one.claim == claim.key and one.base == request.name]
            if not isinstance(request, Request) or request.all or request.admin or not ways:
                continue
            for number in range(request.count):
                slot = (claim.key, request.name, number)
                slots.append(slot)
                graph.add_node(slot)
                graph.add_edges_from((slot, id) for id in ways[0].free)
    if not slots:
        return False
    paired = networkx.bipartite.hopcroft_karp_matching(graph, slots)
    return any(slot not in paired for slot in slots)


def free_for(chosen: Sequence[Choices]) -> set[DeviceId]:
    """Devices that any of the requests could take."""
    return {id for one in chosen for id in one.free}
