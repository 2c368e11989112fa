"""The claims that oFEP-0062 writes for a server of two mirrored rings, and what the allocator makes of them.

Its examples (source: oFEP-0062, design details): up to a ring, one request with `count` that matches the ring (4: the
NUMA node too; 2: a prioritized list, one ring, else one switch); 12 as twelve single requests, six that match the ring,
six that match the other, and pcieRoot for each two partners. 10, 14 and 16 are written here as it writes 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topology.errors import TopologyError
from topology.groups import groups, members
from topology.model import Server
from topology.profiles import DriverProfile
from topology.search import Free
from topology.simulate.firstfit import Fit
from topology.simulate.rules import bits


@dataclass(frozen=True)
class Mirror:
    """A server of two rings, each NPU with one PIX partner in the other. rings: as bits; pairs: partners as bits."""

    rings: tuple[int, int]
    pairs: tuple[int, ...]


def mirror(server: Server, order: Sequence[int]) -> Mirror | None:
    """The server as two mirrored rings, or None where it is none, and the proposal writes no claims for it."""
    made = groups(server)
    rings, pairs = members(made.ring), members(made.pix)
    if len(rings) != 2 or frozenset().union(*pairs) != frozenset(server.ids):
        return None
    if any(len(pair) != 2 or any(len(pair & ring) != 1 for ring in rings) for pair in pairs):
        return None
    return Mirror(
        (bits(rings[0], order), bits(rings[1], order)),
        tuple(bits(pair, order) for pair in pairs),
    )


def proposed_spec(count: int, ring_size: int, profile: DriverProfile) -> dict[str, Any]:
    """The ResourceClaimSpec for so many NPUs. TopologyError for an odd count past a ring, of which it says nothing."""
    ring, numa, root = (profile.qualified(name or "") for name in (profile.ring, profile.numa, profile.pcie_root))
    exactly = {"deviceClassName": profile.device_class, "allocationMode": "ExactCount"}
    if count == 2:
        alternatives = [{"name": name, **exactly, "count": 2} for name in ("ring", "root")]
        matches = [
            {"requests": ["npu/ring"], "matchAttribute": ring},
            {"requests": ["npu/root"], "matchAttribute": root},
        ]
        return {"devices": {"requests": [{"name": "npu", "firstAvailable": alternatives}], "constraints": matches}}
    if count <= ring_size:
        attributes = {1: [], 4: [ring, numa]}.get(count, [ring])
        matches = [{"requests": ["npu"], "matchAttribute": name} for name in attributes]
        requests = [{"name": "npu", "exactly": {**exactly, "count": count}}]
        return {"devices": {"requests": requests, **({"constraints": matches} if matches else {})}}
    if count % 2:
        raise TopologyError(f"oFEP-0062 has no layout for {count} NPUs.", remedy="Ask for an even number.")
    half = count // 2
    names = [f"npu{number}" for number in range(1, count + 1)]
    matches = [{"requests": part, "matchAttribute": ring} for part in (names[:half], names[half:])]
    for left, right in zip(names[:half], names[half:], strict=True):
        matches.append({"requests": [left, right], "matchAttribute": root})
    return {
        "devices": {
            "requests": [{"name": name, "exactly": {**exactly, "count": 1}} for name in names],
            "constraints": matches,
        }
    }


class SingleRequests:
    """The layout of single requests, ring by ring: what is found and at what cost, without walking the search.

    The search takes one NPU after another from a ring and learns only when it comes to the partners that one is
    missing. So below an NPU without a partner every order of the rest is walked in vain; how many entries that takes
    depends on numbers only, and what follows a run of NPUs with partners depends only on which are left.
    """

    def __init__(self, half: int, mirror: Mirror) -> None:
        self._half = half
        self._mirror = mirror
        self._fits: dict[Free, Fit] = {}

    def fit(self, free: Free) -> Fit:
        known = self._fits.get(free)
        if known is None:
            known = self._fits[free] = self._run(free)
        return known

    def _run(self, free: Free) -> Fit:
        whole = 0
        for pair in self._mirror.pairs:
            whole |= pair if pair & free == pair else 0
        known: dict[tuple[int, int], tuple[int, int]] = {}
        calls, left = 1, free
        while left:
            first = left & -left
            left ^= first
            ring = next(ring for ring in self._mirror.rings if ring & first) & free
            used, below = self._taken(1, ring & ~first, bool(whole & first), whole, known)
            calls += 1 + below
            if used >= 0:
                chosen = first | used
                partners = sum(pair for pair in self._mirror.pairs if pair & chosen)
                return Fit(partners, 0, calls)
        return Fit(0, 0, calls)

    def _taken(
        self, taken: int, ring: int, partner: bool, whole: int, known: dict[tuple[int, int], tuple[int, int]]
    ) -> tuple[int, int]:
        """(NPUs chosen of what is left of the ring, or -1; entries) after one was taken that has a partner, or not."""
        if not partner:
            return -1, self._in_vain(taken, ring.bit_count(), taken - 1)
        if taken == self._half:
            # Each partner is an entry for its request and one for itself; then past the requests and past the claim.
            return 0, 2 * self._half + 2
        key = (taken, ring)
        if key not in known:
            known[key] = self._next(taken, ring, whole, known)
        return known[key]

    def _next(
        self, taken: int, ring: int, whole: int, known: dict[tuple[int, int], tuple[int, int]]
    ) -> tuple[int, int]:
        calls, left = 1, ring
        while left:
            device = left & -left
            left ^= device
            used, below = self._taken(taken + 1, ring & ~device, bool(whole & device), whole, known)
            calls += 1 + below
            if used >= 0:
                return device | used, calls
        return -1, calls

    def _in_vain(self, taken: int, left: int, good: int) -> int:
        """Entries from the next request on, when the NPU after the first `good` ones has no partner."""
        if taken == self._half:
            return 2 * good + 1
        return 1 + left * (1 + self._in_vain(taken + 1, left - 1, good)) if left else 1
