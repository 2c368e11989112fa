"""Takes one form of all that are known for a placement, and tells why it was that one.

Among the forms whose worst state is affordable, the one that costs the least where it fits: that is what most attempts
are. Costs that are nearly the same are the same: of such forms the one with the fewest expressions is taken, since all
claims of a cluster share the ten that the scheduler keeps, then that with the fewest requests. Where no form is
affordable, it is the one with the lowest product of both costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topology.forms.candidates import candidates
from topology.forms.form import Form
from topology.forms.measure import Measure
from topology.placements import Placement
from topology.profiles import richer
from topology.vocabulary import Vocabulary

AFFORDABLE = 200
"""Entries of the allocator's inner function that a form may cost in its worst state."""

ALIKE = 1.05
"""Costs up to so many times the lowest are the same: the weights of topology.forms.cost tell no more apart."""


@dataclass(frozen=True)
class Figures:
    """What a form costs. common: where it fits, against the same count without constraints. expressions: different
    ones, the class's among them. worst: entries of the allocator's inner function; at_least: it is not affordable, and
    no worse state was looked for.
    """

    family: str
    common: float
    worst: int
    at_least: bool
    requests: int
    expressions: int


@dataclass(frozen=True)
class Why:
    """chosen, and the other forms of the placement, the cheapest first.

    cheaper_with: what the driver would have to publish for a cheaper form → what that form would cost.
    """

    chosen: Figures
    others: tuple[Figures, ...] = ()
    cheaper_with: tuple[tuple[str, Figures], ...] = ()


def choose(vocabulary: Vocabulary, placement: Placement) -> Form:
    """The form for a placement. TopologyError where the driver's attributes cannot say it."""
    known = list(candidates(vocabulary, placement))
    if len(known) == 1:
        return known[0]
    key = (vocabulary.key, placement)
    if key not in _CHOSEN:
        _CHOSEN[key] = pick(known, Measure(vocabulary, placement))
    return _CHOSEN[key]


_CHOSEN: dict[tuple[object, Placement], Form] = {}
"""What was chosen before: the same question is asked for each template of each command."""


def pick(known: Sequence[Form], measure: Measure) -> Form:
    """Of these forms the one to take; the costlier ones are not looked at once one is affordable."""
    rising = _rising(known, measure)
    best: tuple[float, tuple[int, int], Form] | None = None
    for form, cost in rising:
        if best is not None and cost > ALIKE * best[0]:
            break
        size = (measure.expressions(form), len(form.requests))
        if best is not None and size >= best[1]:
            continue
        if measure.worst(form, AFFORDABLE) <= AFFORDABLE:
            best = (cost if best is None else best[0], size, form)
    if best is not None:
        return best[2]
    return min(rising, key=lambda row: row[1] * measure.worst(row[0]))[0]


def why(vocabulary: Vocabulary, placement: Placement) -> Why:
    """The choice with its figures and those of the forms that were not taken."""
    form, measure = choose(vocabulary, placement), Measure(vocabulary, placement)
    mine = figures(form, measure)
    others = [other for other, _ in _rising(list(candidates(vocabulary, placement)), measure) if other != form]
    cheaper: list[tuple[str, Figures]] = []
    for attribute, profile in richer(vocabulary.profile):
        there = Vocabulary.of(vocabulary.server, profile)
        found = figures(choose(there, placement), Measure(there, placement))
        # What is not told apart is not promised.
        if found.common * ALIKE < mine.common and found.worst <= max(AFFORDABLE, mine.worst):
            cheaper.append((attribute, found))
    return Why(mine, tuple(figures(other, measure, AFFORDABLE) for other in others), tuple(cheaper))


def figures(form: Form, measure: Measure, enough: int | None = None) -> Figures:
    """enough: entries past which a state is bad enough, see `Measure.worst`."""
    worst = measure.worst(form, enough)
    return Figures(
        form.family,
        measure.common(form),
        worst,
        enough is not None and worst > enough,
        len(form.requests),
        measure.expressions(form),
    )


def _rising(known: Sequence[Form], measure: Measure) -> list[tuple[Form, float]]:
    """By the cost where they fit; equal ones stay in the order in which they came, the simpler family first."""
    return sorted(((form, measure.common(form)) for form in known), key=lambda row: row[1])
