"""Pairs of which some are asked for two at a time, by quads: fewer requests, and fewer devices looked at for each."""

from __future__ import annotations

from collections.abc import Iterator

from topology.forms.form import Form
from topology.forms.writer import Writer
from topology.placements import Placement
from topology.vocabulary import Vocabulary


def quads(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    """Of q quads with m pairs too many, at least q - m are taken whole; the other pairs are asked for by themselves."""
    quad = vocabulary.quads()
    if quad is None or placement.unit_size != 2 or vocabulary.pools(placement):
        return
    groups = vocabulary.classes([quad])
    if any(sum(unit <= group for unit in placement.units) != 2 for group in groups):
        return
    unit, number = vocabulary.units(placement), placement.count // 2
    spare = len(placement.units) - number
    for whole in range(1, len(groups) - spare + 1):
        writer = Writer(vocabulary)
        for _ in range(whole):
            writer.request(4, quad)
        for _ in range(number - 2 * whole):
            writer.request(2, unit)
        yield writer.form(f"quads-{whole}")
