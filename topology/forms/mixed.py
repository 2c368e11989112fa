"""So many units that some NUMA nodes are taken whole, whichever: those by their cells, the rest by units or quads."""

from __future__ import annotations

from collections.abc import Iterator

from topology.forms.form import Form
from topology.forms.grouped import by_node
from topology.forms.writer import Writer
from topology.placements import Placement
from topology.vocabulary import Vocabulary


def nodes_and_units(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    groups = by_node(vocabulary, placement) if placement.unit_size > 1 and not vocabulary.pools(placement) else []
    by, cells = vocabulary.cells()
    if not groups or not cells:
        return
    each, number = len(groups[0]), placement.count // placement.unit_size
    whole = number - len(groups) * (each - 1)
    # A cell must hold one NPU of each unit of its node, or cells do not make whole units.
    if whole < 1 or len(cells) != len(groups) * placement.unit_size or any(len(cell) != each for cell in cells):
        return
    unit, rest = vocabulary.units(placement), number - whole * each
    # Of the other nodes' quads, those that no choice of their units can break all at once.
    quad = vocabulary.quads() if placement.unit_size == 2 else None
    most = (len(groups) - whole) * each // 2 - ((len(groups) - whole) * each - rest) if quad is not None else 0
    for fours in range(max(0, most) + 1):
        writer = Writer(vocabulary)
        for _ in range(whole):
            names = [writer.request(each, *by) for _ in range(placement.unit_size)]
            writer.match(names, by[1])
        for _ in range(fours):
            assert quad is not None
            writer.request(4, quad)
        for _ in range(rest - 2 * fours):
            writer.request(placement.unit_size, unit)
        yield writer.form(f"node-quads-{fours}-and-units" if fours else "node-and-units")
