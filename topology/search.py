"""A claim's search as the scheduler does it, on the free NPUs of one server as bits: whether it fits, and at what cost.

For templates as topology.claims makes them: requests for a number of devices, or one with alternatives, that match
attributes within a request or over all of them. The cost is counted as the allocator of Kubernetes 1.36 and 1.37 does:
entries of its inner function, allocateOne (k8s.io/dynamic-resource-allocation, structured/internal/incubating). What
follows a request depends only on what is still free, so it is worked out once for each set of free NPUs, however many
states and orders lead there; that is what makes all 2^16 states of a server tractable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topology.devices import Value

Free = int
"""Bit i set: the device at position i of the slice is free."""

Settled = tuple[int, ...]
"""For each join the class that the requests so far have settled on, 0 for none yet."""

_END = 2
"""Entries that end a successful search: one past the last request, one past the claim."""


@dataclass(frozen=True)
class Alternative:
    """name: request or request/subrequest. classes: what may stand together in it, as disjoint sets of bits.

    Devices that no selector or constraint lets in are in no class.
    """

    name: str
    count: int
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Join:
    """Requests, by number, whose devices must all lie in one of the classes."""

    requests: frozenset[int]
    classes: tuple[int, ...]


@dataclass(frozen=True)
class Ask:
    """requests in order, each its alternatives. listed: whether it is a prioritized list, which costs an entry."""

    requests: tuple[tuple[Alternative, ...], ...]
    listed: tuple[bool, ...]
    joins: tuple[Join, ...] = ()


@dataclass(frozen=True)
class Found:
    """fits: whether the search succeeds. calls: entries of the inner function until it does, or gives up."""

    fits: bool
    calls: int


class UnmodelledError(ValueError):
    """The claim uses what this search does not know. It is for compiled templates, not for anyone's claims."""


def read_ask(
    spec: Mapping[str, Any],
    known: Sequence[Mapping[str, Value]],
    driver: str,
    selected: Mapping[str, int] | None = None,
) -> Ask:
    """The claim's search over devices with these attributes, in the order of the slice.

    selected: CEL expression → the devices that it lets in, as bits. UnmodelledError for one that is not there.
    """
    devices = spec["devices"]
    if any(c.get("distinctAttribute") is not None for c in devices.get("constraints", [])):
        raise UnmodelledError("distinctAttribute")
    constraints = [
        (list(c["requests"]), str(c["matchAttribute"]).removeprefix(f"{driver}/"))
        for c in devices.get("constraints", [])
    ]
    names = [request["name"] for request in devices["requests"]]
    requests: list[tuple[Alternative, ...]] = []
    for request in devices["requests"]:
        asked = [(f"{request['name']}/{sub['name']}", sub) for sub in request.get("firstAvailable", [])]
        requests.append(
            tuple(
                _alternative(
                    name,
                    sub,
                    # One over the whole request binds whichever of its alternatives is taken.
                    [a for covered, a in constraints if covered in ([name], [request["name"]])],
                    known,
                    selected or {},
                )
                for name, sub in asked or [(request["name"], request["exactly"])]
            )
        )
    joins = [(covered, attribute) for covered, attribute in constraints if len(covered) > 1]
    if any(name not in names for covered, _ in joins for name in covered):
        raise UnmodelledError("a constraint over alternatives of several requests")
    return Ask(
        tuple(requests),
        tuple("firstAvailable" in request for request in devices["requests"]),
        tuple(
            Join(frozenset(names.index(name) for name in covered), _classes([attribute], known, -1))
            for covered, attribute in joins
        ),
    )


def _alternative(
    name: str,
    asked: Mapping[str, Any],
    attributes: Sequence[str],
    known: Sequence[Mapping[str, Value]],
    selected: Mapping[str, int],
) -> Alternative:
    let_in = _let_in(asked, selected)
    return Alternative(name, asked["count"], _classes(attributes, known, let_in))


def _let_in(asked: Mapping[str, Any], selected: Mapping[str, int]) -> int:
    """The devices that all the selectors let in, as bits."""
    if asked.get("allocationMode") != "ExactCount":
        raise UnmodelledError(f"allocationMode {asked.get('allocationMode')}")
    for field in ("adminAccess", "capacity", "derivedAttributes"):
        if asked.get(field):
            raise UnmodelledError(field)
    mask = -1
    for selector in asked.get("selectors", []):
        expression = selector["cel"]["expression"]
        if expression not in selected:
            raise UnmodelledError(f"the selector {expression!r}")
        mask &= selected[expression]
    return mask


def _classes(attributes: Sequence[str], known: Sequence[Mapping[str, Value]], let_in: int) -> tuple[int, ...]:
    """Devices by equal values of all the attributes; those that lack one are in none, as no constraint takes them."""
    found: dict[tuple[Value, ...], int] = {}
    for position, values in enumerate(known):
        if let_in >> position & 1 and all(name in values for name in attributes):
            key = tuple(values[name] for name in attributes)
            found[key] = found.get(key, 0) | 1 << position
    return tuple(found.values())


class Search:
    """The search of one claim in any state. Keeps what it has worked out, so ask one object about all states."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self._known: dict[tuple[int, Free, Settled], Found] = {}

    def run(self, free: Free) -> Found:
        """What the allocator finds when these devices are free."""
        return self._from(0, free, (0,) * len(self.ask.joins))

    def _from(self, request: int, free: Free, settled: Settled) -> Found:
        """From the entry of a request on."""
        if request == len(self.ask.requests):
            return Found(True, _END)
        key = (request, free, settled)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._request(request, free, settled)
        return known

    def _request(self, request: int, free: Free, settled: Settled) -> Found:
        calls = 1 if self.ask.listed[request] else 0
        for alternative in self.ask.requests[request]:
            found = self._alternative(request, alternative, free, settled)
            calls += found.calls
            if found.fits:
                return Found(True, calls)
        return Found(False, calls)

    def _alternative(self, request: int, alternative: Alternative, free: Free, settled: Settled) -> Found:
        last = request == len(self.ask.requests) - 1
        calls = 1
        for first in _bits(free):
            inside = next((members for members in alternative.classes if members & first), 0)
            now = settled
            for number, join in enumerate(self.ask.joins):
                if request in join.requests:
                    around = settled[number] or next((c for c in join.classes if c & first), 0)
                    inside &= around
                    now = (*now[:number], around, *now[number + 1 :])
            if not inside & first:
                continue
            later = free & inside & -(first << 1)
            if last or later.bit_count() < alternative.count - 1:
                found = _rest(later.bit_count(), alternative.count - 1)
            else:
                found = self._choose(request, free & ~first, later, alternative.count - 1, now)
            calls += found.calls
            if found.fits:
                return Found(True, calls)
        return Found(False, calls)

    def _choose(self, request: int, free: Free, later: Free, missing: int, settled: Settled) -> Found:
        """From the entry after a device was taken: `missing` more from those in `later`, then the next request."""
        if missing == 0:
            found = self._from(request + 1, free, settled)
            return Found(found.fits, 1 + found.calls)
        calls = 1
        for device in _bits(later):
            found = self._choose(request, free & ~device, later & -(device << 1), missing - 1, settled)
            calls += found.calls
            if found.fits:
                return Found(True, calls)
        return Found(False, calls)


def _rest(there: int, missing: int) -> Found:
    """The same for the last request, where all devices that may follow are alike: the first combination fits, or none.

    Of `there` devices that are too few, every subset is entered once.
    """
    return Found(True, 1 + missing + _END) if there >= missing else Found(False, 1 << there)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest
        mask ^= lowest
