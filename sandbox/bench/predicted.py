"""What the replica of the scheduler's search says a form costs, beside what the real scheduler took."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sandbox.bench.forms import Spec
from sandbox.bench.kind import Kind, Order
from topology.search import Search, read_ask

_LISTED = re.compile(r" in \[([\d, ]*)\]$")


def search(kind: Kind, spec: Spec, order: Order) -> Search:
    """The search of a form's claim on a server whose slice has this order."""
    ids = kind.ordered(order)
    selected: dict[str, int] = {}
    for request in spec["devices"]["requests"]:
        for selector in request["exactly"].get("selectors", []):
            expression = selector["cel"]["expression"]
            listed = _LISTED.search(expression)
            # The forms have two kinds of expressions: a list of ids, and the chip, which all NPUs of a server share.
            among = [int(id) for id in listed[1].split(",")] if listed else ids
            selected[expression] = bits(ids, among)
    return Search(read_ask(spec, [kind.known[id] for id in ids], kind.profile.driver, selected))


def bits(ids: tuple[int, ...], chosen: Iterable[int]) -> int:
    """The chosen ids as bits by their position in the slice."""
    return sum(1 << ids.index(id) for id in chosen)


def calls(kind: Kind, spec: Spec, order: Order, free: Iterable[int]) -> int:
    """Entries of the allocator's inner function for this state."""
    return search(kind, spec, order).run(bits(kind.ordered(order), free)).calls


def worst(kind: Kind, spec: Spec, order: Order) -> tuple[int, tuple[int, ...]]:
    """(entries, free ids) of the state that costs the most, of all 2^n states."""
    one, ids = search(kind, spec, order), kind.ordered(order)
    most, where = max((one.run(free).calls, -free) for free in range(1 << len(ids)))
    return most, tuple(sorted(id for position, id in enumerate(ids) if -where >> position & 1))
