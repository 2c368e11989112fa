"""Every set of devices that a claim allows, found by trying them all. Knows attributes and constraints, no rings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from topology.devices import Value

Known = Mapping[int, Mapping[str, Value]]


def possible(spec: Mapping[str, Any], known: Known, driver: str) -> set[frozenset[int]]:
    """The sets for a claim without prioritized lists."""
    devices = spec["devices"]
    return _search(
        [
            (request["name"], request["exactly"]["count"], _let_in(request["exactly"]))
            for request in devices["requests"]
        ],
        [(c["requests"], c["matchAttribute"].removeprefix(f"{driver}/")) for c in devices.get("constraints", [])],
        known,
    )


def alternatives(spec: Mapping[str, Any], known: Known, driver: str) -> Iterator[tuple[str, set[frozenset[int]]]]:
    """request/subrequest → its sets, for a claim of one request with a prioritized list."""
    (request,) = spec["devices"]["requests"]
    for sub in request["firstAvailable"]:
        name = f"{request['name']}/{sub['name']}"
        constraints = [
            (c["requests"], c["matchAttribute"].removeprefix(f"{driver}/"))
            for c in spec["devices"].get("constraints", [])
            if name in c["requests"]
        ]
        yield name, _search([(name, sub["count"], _let_in(sub))], constraints, known)


def _let_in(asked: Mapping[str, Any]) -> Callable[[int], bool]:
    """What the selectors let in: compiled ones name ids in a list."""
    lists = [
        re.findall(r"\d+", selector["cel"]["expression"].rpartition("[")[2]) for selector in asked.get("selectors", [])
    ]
    return lambda id: all(str(id) in ids for ids in lists)


def _search(
    requests: Sequence[tuple[str, int, Callable[[int], bool]]],
    constraints: Sequence[tuple[Sequence[str], str]],
    known: Known,
) -> set[frozenset[int]]:
    states: set[tuple[frozenset[int], tuple[Value | None, ...]]] = {(frozenset(), (None,) * len(constraints))}
    for name, count, let_in in requests:
        following = set()
        for used, values in states:
            for chosen in combinations(sorted(filter(let_in, set(known) - used)), count):
                fixed = _hold(name, chosen, constraints, values, known)
                if fixed is not None:
                    following.add((used | frozenset(chosen), fixed))
        states = following
    return {used for used, _ in states}


def _hold(
    name: str,
    chosen: Sequence[int],
    constraints: Sequence[tuple[Sequence[str], str]],
    values: Sequence[Value | None],
    known: Known,
) -> tuple[Value | None, ...] | None:
    fixed = list(values)
    for number, (names, attribute) in enumerate(constraints):
        if name not in names:
            continue
        for id in chosen:
            value = known[id].get(attribute)
            if value is None or fixed[number] not in (None, value):
                return None
            fixed[number] = value
    return tuple(fixed)
