"""Units that may not change places: the j-th in order is asked for among those that it can be, by id.

To choose c of n ordered units, the j-th chosen is one of j … j+n-c, so nothing is lost by saying so. The order is taken
away from the search, at the price of expressions: of those the scheduler keeps ten compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

from topology.forms.form import Form
from topology.forms.grouped import Units, by_node, ordered
from topology.forms.writer import Writer
from topology.placements import Placement
from topology.vocabulary import Vocabulary


def windows(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    """Windows for what every choice has on each NUMA node, or for the first units of all in order, up to every one."""
    if placement.unit_size == 1 or vocabulary.pools(placement):
        return
    unit = vocabulary.units(placement)
    number = placement.count // placement.unit_size
    everything = _windows(ordered(placement), len(placement.units), number)
    nodes = by_node(vocabulary, placement)
    by_nodes = [window for node in nodes for window in _windows(node, len(placement.units), number)]
    narrowed = [(f"windows-{kept}", everything[:kept]) for kept in range(1, len(everything) + 1)]
    for family, chosen in [*([("windows-by-node", by_nodes)] if by_nodes else []), *narrowed]:
        writer = Writer(vocabulary)
        for window in chosen:
            writer.request(placement.unit_size, unit, only=window)
        for _ in range(number - len(chosen)):
            writer.request(placement.unit_size, unit)
        yield writer.form(family)


def _windows(group: Units, total: int, number: int) -> list[frozenset[int]]:
    """Of the units that every choice of `number` out of `total` has in a group, the window of the j-th."""
    least = max(0, number - (total - len(group)))
    return [frozenset().union(*group[j : len(group) - least + j + 1]) for j in range(least)]
