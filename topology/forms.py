"""Forms: ways to say a placement in requests and constraints. All of one placement allow the same sets at other costs.

The scheduler's search is exhaustive, so a set that nearly fits can cost a great deal (facts: structured allocator). One
request is the cheapest where it fits; where a whole group of groups must be taken, its parts are asked for one by one,
since a part that lacks an NPU is found out early; where units are chosen from many, the order among equal requests is
taken away from the search. Every form is proven (topology.proof) for every state of its server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from topology.groups import members
from topology.placements import Placement, numa_partition
from topology.search import Search, read_ask
from topology.selectors import by_id
from topology.vocabulary import Attribute, Vocabulary

REQUEST = "npu"

AFFORDABLE = 200
"""Entries of the allocator's inner function that the simplest form may cost at worst before another is looked for."""


@dataclass(frozen=True)
class Form:
    """requests and constraints as in a claim's spec; rests_on: the assumptions that they rest on."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    constraints: list[dict[str, Any]] = field(default_factory=list)
    rests_on: frozenset[str] = frozenset()

    def spec(self) -> dict[str, Any]:
        devices: dict[str, Any] = {"requests": self.requests}
        # An empty list would come back from the server as no list, and be a difference for ever.
        if self.constraints:
            devices["constraints"] = self.constraints
        return {"devices": devices}


def strict(vocabulary: Vocabulary, placement: Placement) -> Form:
    """The form for a placement. TopologyError where the driver's attributes cannot say it."""
    if placement.unit_size == 1:
        return _singles(vocabulary, placement)
    return _units(vocabulary, placement)


def prioritized(vocabulary: Vocabulary, ladder: Sequence[Placement]) -> Form:
    """One request with an alternative for each placement, all of single NPUs, the first the best."""
    writer = _Writer(vocabulary)
    alternatives: list[dict[str, Any]] = []
    for tier in ladder:
        alternatives.append({"name": tier.shape, **writer.asked(tier.count)})
        for attribute in vocabulary.pools(tier):
            writer.match([f"{REQUEST}/{tier.shape}"], attribute)
    writer.requests.append({"name": REQUEST, "firstAvailable": alternatives})
    return writer.form()


def _singles(vocabulary: Vocabulary, placement: Placement) -> Form:
    pools = vocabulary.pools(placement)
    size = _cell_size(vocabulary, placement)
    if size is not None:
        return _cell_by_cell(vocabulary, placement, pools, size)
    writer = _Writer(vocabulary)
    name = writer.request(REQUEST, placement.count)
    for attribute in pools:
        writer.match([name], attribute)
    return writer.form()


def _cell_size(vocabulary: Vocabulary, placement: Placement) -> int | None:
    """NPUs of a cell, where one request would cost too much and the pools are taken whole, in cells of one size."""
    # In each pool all but one of the NPUs may be free: every subset of them is entered.
    worst = 1 + len(placement.pools) * (2 ** (placement.count - 1) - 1)
    sizes = {len(cell) for cell in vocabulary.cells()[1]}
    if worst <= AFFORDABLE or len(sizes) != 1 or any(len(pool) != placement.count for pool in placement.pools):
        return None
    size = sizes.pop()
    return size if 1 < size < placement.count else None


def _cell_by_cell(vocabulary: Vocabulary, placement: Placement, pools: Sequence[Attribute], size: int) -> Form:
    by, _ = vocabulary.cells()
    writer = _Writer(vocabulary)
    names = [writer.request(f"{REQUEST}-{i}", size) for i in range(placement.count // size)]
    for name in names:
        for attribute in by:
            writer.match([name], attribute)
    for attribute in pools:
        writer.match(names, attribute)
    if not pools:
        # The whole server, one NUMA node after another: a node that lacks an NPU is not tried with cells of others.
        each = len(names) // len(_nodes(vocabulary))
        for i in range(0, len(names), each):
            if each > 1:
                writer.match(names[i : i + each], by[1])
    return writer.form()


def _nodes(vocabulary: Vocabulary) -> tuple[frozenset[int], ...]:
    numa = numa_partition(vocabulary.server)
    return members(numa) if numa is not None else ()


def _units(vocabulary: Vocabulary, placement: Placement) -> Form:
    unit, pools = vocabulary.units(placement), vocabulary.pools(placement)
    number = placement.count // placement.unit_size
    plain = _plain_units(vocabulary, placement, unit, pools, number)
    if pools or _worst_of_units(vocabulary, placement, plain, number) <= AFFORDABLE:
        return plain
    groups = _groups_of_units(vocabulary, placement)
    each = max(map(len, groups))
    whole = number - len(groups) * (each - 1)
    attributes, cells = vocabulary.cells()
    if whole == 1 and cells and all(len(cell) == each for cell in cells):
        return _one_node_and_units(vocabulary, placement, unit, attributes, each, number - each)
    return _windows(vocabulary, placement, unit, groups, number)


def _plain_units(
    vocabulary: Vocabulary, placement: Placement, unit: Attribute, pools: Sequence[Attribute], number: int
) -> Form:
    writer = _Writer(vocabulary)
    names = [writer.request(f"{REQUEST}-{i}", placement.unit_size) for i in range(number)]
    for name in names:
        writer.match([name], unit)
    for attribute in pools:
        writer.match(names, attribute)
    return writer.form()


def _worst_of_units(vocabulary: Vocabulary, placement: Placement, form: Form, number: int) -> int:
    """What equal requests for units cost in their worst state: one unit too few, all others short of one NPU."""
    ids = list(vocabulary.known)
    short = {max(unit) for unit in placement.units[number - 1 :]}
    free = sum(1 << position for position, id in enumerate(ids) if id not in short)
    known = [vocabulary.known[id] for id in ids]
    return Search(read_ask(form.spec(), known, vocabulary.profile.driver)).run(free).calls


def _groups_of_units(vocabulary: Vocabulary, placement: Placement) -> list[list[frozenset[int]]]:
    """The units by NUMA node where that splits them evenly, else in halves: by what the search is kept in order."""
    units = sorted(placement.units, key=min)
    by_node = [[unit for unit in units if unit <= node] for node in _nodes(vocabulary)]
    if by_node and sum(map(len, by_node)) == len(units) and len({len(group) for group in by_node}) == 1:
        return by_node
    half = (len(units) + 1) // 2
    return [units[:half], units[half:]]


def _one_node_and_units(
    vocabulary: Vocabulary, placement: Placement, unit: Attribute, by: Sequence[Attribute], each: int, rest: int
) -> Form:
    """So many units that one NUMA node is taken whole, whichever: it is asked for by its cells, the rest by units."""
    writer = _Writer(vocabulary)
    _, numa = by
    cells = [writer.request(f"{REQUEST}-{i}", each) for i in range(placement.unit_size)]
    for name in cells:
        for attribute in by:
            writer.match([name], attribute)
    writer.match(cells, numa)
    for i in range(rest):
        writer.match([writer.request(f"{REQUEST}-{placement.unit_size + i}", placement.unit_size)], unit)
    return writer.form()


def _windows(
    vocabulary: Vocabulary,
    placement: Placement,
    unit: Attribute,
    groups: Sequence[Sequence[frozenset[int]]],
    number: int,
) -> Form:
    """Requests that may not change places: of the units that every choice has in a group, the j-th in order.

    To choose c of n ordered units, the j-th chosen is one of j … j+n-c, so nothing is lost by saying so.
    """
    writer = _Writer(vocabulary)
    total = sum(map(len, groups))
    names: list[str] = []
    for group in groups:
        least = max(0, number - (total - len(group)))
        for j in range(least):
            window = frozenset().union(*group[j : len(group) - least + j + 1])
            names.append(writer.request(f"{REQUEST}-{len(names)}", placement.unit_size, window))
    while len(names) < number:
        names.append(writer.request(f"{REQUEST}-{len(names)}", placement.unit_size))
    for name in names:
        writer.match([name], unit)
    return writer.form()


class _Writer:
    """Collects a form's requests and constraints, and the assumptions of the attributes it uses."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.requests: list[dict[str, Any]] = []
        self._constraints: list[dict[str, Any]] = []
        self._rests_on: set[str] = set()

    def asked(self, count: int, only: Iterable[int] = ()) -> dict[str, Any]:
        """With the defaults that the API server would write, so that nothing differs when it is read back."""
        asked: dict[str, Any] = {"deviceClassName": self._vocabulary.device_class}
        chosen = sorted(only)
        if chosen:
            asked["selectors"] = [{"cel": {"expression": by_id(self._vocabulary.profile, chosen)}}]
        return {**asked, "allocationMode": "ExactCount", "count": count}

    def request(self, name: str, count: int, only: Iterable[int] = ()) -> str:
        self.requests.append({"name": name, "exactly": self.asked(count, only)})
        return name

    def match(self, requests: Sequence[str], attribute: Attribute) -> None:
        name = self._vocabulary.profile.qualified(attribute.name)
        self._constraints.append({"requests": list(requests), "matchAttribute": name})
        self._rests_on |= attribute.rests_on

    def form(self) -> Form:
        return Form(self.requests, self._constraints, frozenset(self._rests_on))
