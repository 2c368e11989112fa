"""The proof of a template: in every state of its server it loses nothing, breaks nothing, and costs no more than this.

A state is which NPUs are free: all 2^n of them are looked at, none is sampled. Nothing is lost if the search succeeds
wherever a set that the template should allow is free; nothing is broken if every set that its words allow, in whatever
order the scheduler comes upon it, keeps the promise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from topology.assumptions import assume
from topology.devices import attributes
from topology.errors import TopologyError
from topology.model import Server
from topology.orders import Order, slice_order
from topology.placements import Choice, choices
from topology.profiles import DriverProfile
from topology.promise import Promise, broken
from topology.search import Alternative, Ask, Search, Settled, read_ask
from topology.selectors import let_in
from topology.template import Template

LARGEST = 16
"""NPUs of a server up to which every state is looked at: 65,536 states."""


VERSION = 1
"""Raised when a proof says more or other than before, so that older ones no longer count."""


@dataclass(frozen=True)
class Proof:
    """states: looked at. lost: states in which an allowed set is free and the search finds none. broken: sets allowed
    that break the promise. worst_calls: entries of the allocator's inner function, at most; worst_state: the ids of the
    free NPUs in the first state that costs it. key: of what was proven, see `key`.
    """

    key: str
    template: str
    count: int
    states: int
    lost: int
    broken: int
    worst_calls: int
    worst_state: tuple[int, ...]

    @property
    def holds(self) -> bool:
        return self.lost == 0 and self.broken == 0


def key(server: Server, template: Template, profile: DriverProfile) -> str:
    """What a proof is of, as 64 hex digits: the search that the claim's words mean, the promises, the wiring.

    Names count for nothing: the same claim with a driver's other spelling of an attribute is the same proof.
    """
    ask, _ = _ask(server, template, profile)
    facts = [VERSION, repr(ask), sorted(map(repr, template.promises.items())), server.ids, server.relations]
    facts.append([(npu.affinity, npu.numa_node) for npu in server.npus])
    return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()


def search_of(server: Server, template: Template, profile: DriverProfile) -> Search:
    """The search that the template's claims cause on the server, its unknowns assumed."""
    return Search(_ask(server, template, profile)[0])


def _ask(server: Server, template: Template, profile: DriverProfile) -> tuple[Ask, Server]:
    """The claim's search, and the server with its unknowns assumed."""
    full = assume(server)
    known = attributes(full, profile)
    order = slice_order(full, profile.order)
    selected = let_in(template.spec, order, profile)
    return read_ask(template.spec, [known[id] for id in order], profile.driver, selected), full


def prove(server: Server, template: Template, profile: DriverProfile) -> Proof:
    """The proof of one template of the server, its unknowns assumed. TopologyError past 16 NPUs."""
    if len(server.npus) > LARGEST:
        raise TopologyError(
            f"{server.name} has {len(server.npus)} NPUs; all states are looked at for up to {LARGEST}.",
            remedy="Capture a server whose NPUs can be proven, or use the template unproven, by hand.",
        )
    ask, full = _ask(server, template, profile)
    order = slice_order(full, profile.order)
    satisfiable = _satisfiable(order, _allowed(full, template))
    search = Search(ask)
    lost, worst, where = 0, 0, 0
    for free in range(1 << len(full.npus)):
        found = search.run(free)
        lost += satisfiable[free] and not found.fits
        if found.calls > worst:
            worst, where = found.calls, free
    return Proof(
        key=key(server, template, profile),
        template=template.name,
        count=template.count,
        states=1 << len(full.npus),
        lost=lost,
        broken=_broken(full, order, template, ask),
        worst_calls=worst,
        worst_state=tuple(sorted(id for position, id in enumerate(order) if where >> position & 1)),
    )


def worst(ask: Ask, npus: int) -> tuple[int, int]:
    """(the most calls that the search costs in any state, the first state that costs so much, as bits)."""
    search = Search(ask)
    calls, state = max((search.run(free).calls, -free) for free in range(1 << npus))
    return calls, -state


def breach(server: Server, promises: Mapping[str, Promise], ask: Ask) -> tuple[tuple[int, ...], str] | None:
    """A set of NPUs that the claim's words allow and that breaks its promise, and why; None where there is none."""
    for names, sets in _possible(ask):
        promise = promises.get(names[0], promises.get(""))
        for mask in sorted(sets):
            chosen = tuple(id for position, id in enumerate(server.ids) if mask >> position & 1)
            if promise is not None and (faults := broken(server, chosen, promise)):
                return chosen, faults[0]
    return None


def _allowed(server: Server, template: Template) -> Iterable[frozenset[int]]:
    """The sets that the placements behind the template allow; for a relaxed one, those of all its tiers."""
    choice: Choice = next(choice for choice in choices(server) if choice.count == template.count)
    promised = set(template.promises.values())
    for tier in choice.tiers:
        if tier.promise in promised:
            yield from tier.sets()


def _satisfiable(order: Order, allowed: Iterable[frozenset[int]]) -> bytearray:
    """For every state whether an allowed set is free in it: marked where it is just that set, then spread upwards."""
    place = {id: position for position, id in enumerate(order)}
    marks = bytearray(1 << len(order))
    for ids in allowed:
        marks[sum(1 << place[id] for id in ids)] = 1
    for position in range(len(order)):
        bit = 1 << position
        for state in range(len(marks)):
            if state & bit and marks[state ^ bit]:
                marks[state] = 1
    return marks


def _broken(server: Server, order: Order, template: Template, ask: Ask) -> int:
    """How many of the sets that the claim's words allow break the promise that goes with them."""
    faults = 0
    for names, sets in _possible(ask):
        promise = template.promises.get(names[0], template.promises.get(""))
        for mask in sets:
            chosen = [id for position, id in enumerate(order) if mask >> position & 1]
            faults += promise is None or bool(broken(server, chosen, promise))
    return faults


def _possible(ask: Ask) -> Iterable[tuple[tuple[str, ...], set[int]]]:
    """(the alternative of each request, every set of devices they can yield together), whatever is free."""
    paths: list[tuple[tuple[str, ...], set[tuple[int, Settled]]]] = [((), {(0, (0,) * len(ask.joins))})]
    for number, alternatives in enumerate(ask.requests):
        paths = [
            (
                (*names, alternative.name),
                {
                    (used | chosen, now)
                    for used, settled in states
                    for chosen, now in _choices(ask, number, alternative, used, settled)
                },
            )
            for names, states in paths
            for alternative in alternatives
        ]
    return [(names, {used for used, _ in states}) for names, states in paths]


def _choices(
    ask: Ask, number: int, alternative: Alternative, used: int, settled: Settled
) -> Iterable[tuple[int, Settled]]:
    """(devices for one request, what the joins have settled on then), from those not used."""
    joins = [index for index, join in enumerate(ask.joins) if number in join.requests]
    open_to = [(settled[index],) if settled[index] else ask.joins[index].classes for index in joins]
    for around in product(*open_to):
        now = list(settled)
        for index, members in zip(joins, around, strict=True):
            now[index] = members
        for members in alternative.classes:
            there = members & ~used
            for join_members in around:
                there &= join_members
            bits = [1 << position for position in range(there.bit_length()) if there >> position & 1]
            for chosen in combinations(bits, alternative.count):
                yield sum(chosen), tuple(now)
