"""All forms that are known for a placement, the simplest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from topology.forms.cells import cells
from topology.forms.form import Form
from topology.forms.mixed import nodes_and_units
from topology.forms.plain import count
from topology.forms.quads import quads
from topology.forms.units import joined, units
from topology.forms.windows import windows
from topology.placements import Placement
from topology.vocabulary import Vocabulary

Family = Callable[[Vocabulary, Placement], Iterator[Form]]

FAMILIES: tuple[Family, ...] = (count, cells, units, nodes_and_units, quads, joined, windows)


def candidates(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    """TopologyError where the driver's attributes cannot say the placement in any way."""
    for family in FAMILIES:
        yield from family(vocabulary, placement)
