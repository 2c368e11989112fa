"""A pool taken whole, by its cells (one ring on one NUMA node): a cell that lacks an NPU is found out early."""

from __future__ import annotations

from collections.abc import Iterator

from topology.forms.form import Form
from topology.forms.writer import Writer
from topology.placements import Placement
from topology.vocabulary import Vocabulary


def cells(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    """Cells joined by what the pool is; the whole server also node by node, and ring by ring."""
    by, there = vocabulary.cells()
    sizes = {len(cell) for cell in there}
    if placement.unit_size > 1 or len(sizes) != 1 or any(len(p) != placement.count for p in placement.pools):
        return
    size = sizes.pop()
    if not 1 < size < placement.count:
        return
    number = placement.count // size
    pools = vocabulary.pools(placement)
    if pools:
        writer = Writer(vocabulary)
        names = [writer.request(size, *by) for _ in range(number)]
        for attribute in pools:
            writer.match(names, attribute)
        yield writer.form("cells")
        return
    for label, attribute in zip(("ring", "node"), by, strict=True):
        each = number // len(vocabulary.classes([attribute]))
        if each < 2:
            continue
        writer = Writer(vocabulary)
        names = [writer.request(size, *by) for _ in range(number)]
        for i in range(0, number, each):
            writer.match(names[i : i + each], attribute)
        yield writer.form(f"cells-by-{label}")
