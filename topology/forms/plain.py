"""One request with a count, matched by the pool's attributes: the least to look at where it fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from topology.forms.form import REQUEST, Form
from topology.forms.writer import Writer
from topology.placements import Placement
from topology.vocabulary import Vocabulary


def count(vocabulary: Vocabulary, placement: Placement) -> Iterator[Form]:
    if placement.unit_size > 1:
        return
    writer = Writer(vocabulary)
    writer.request(placement.count, *vocabulary.pools(placement), name=REQUEST)
    yield writer.form("count")


def prioritized(vocabulary: Vocabulary, ladder: Sequence[Placement]) -> Form:
    """One request with an alternative for each placement, all of single NPUs, the first the best."""
    writer = Writer(vocabulary)
    writer.listed(REQUEST, [{"name": tier.shape, **writer.asked(tier.count)} for tier in ladder])
    for tier in ladder:
        for attribute in vocabulary.pools(tier):
            writer.match([f"{REQUEST}/{tier.shape}"], attribute)
    return writer.form("alternatives")
