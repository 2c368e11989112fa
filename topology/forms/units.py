"""Units of several NPUs, a request for each: equal ones, or some joined by the NUMA node that they share anyway."""

from __future__ import annotations

from collections.abc import Iterator

from topology.forms.form import Form
from topology.forms.grouped import by_node, runs
from topology.forms.writer import Writer
from topology.placements import Placement
from topology.promise import Keeps
from topology.vocabulary import Vocabulary


def units(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    """As many equal requests as units, matched by the unit and the pool. The search tries all their orders."""
    if placement.unit_size == 1:
        return
    unit, pools = vocabulary.units(placement), vocabulary.pools(placement)
    writer = Writer(vocabulary)
    names = [writer.request(placement.unit_size, unit) for _ in range(placement.count // placement.unit_size)]
    for attribute in pools:
        writer.match(names, attribute)
    yield writer.form("units")


def joined(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    """Units of which some must share a NUMA node, as many as in every choice do: a node with too few ends a branch."""
    groups = by_node(vocabulary, placement) if placement.unit_size > 1 and not vocabulary.pools(placement) else []
    number = placement.count // placement.unit_size
    if not groups:
        return
    unit, numa = vocabulary.units(placement), vocabulary.attribute(Keeps.ONE_NUMA)
    for run in runs(len(groups), len(groups[0]), number):
        writer = Writer(vocabulary)
        for together in run:
            writer.match([writer.request(placement.unit_size, unit) for _ in range(together)], numa)
        for _ in range(number - sum(run)):
            writer.request(placement.unit_size, unit)
        yield writer.form(f"units-joined-{'-'.join(map(str, run))}")
