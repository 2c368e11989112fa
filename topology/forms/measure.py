"""Measures the forms of one placement under one vocabulary, in the order in which its driver lists devices."""

from __future__ import annotations

from topology.forms.cost import common, worst
from topology.forms.form import Form
from topology.forms.states import light, starts
from topology.forms.work import Asked, Claim, read_claim
from topology.placements import Placement
from topology.search import Search, read_ask
from topology.selectors import let_in
from topology.vocabulary import Vocabulary


class Measure:
    """What it takes from the server is worked out once, for however many forms."""

    def __init__(self, vocabulary: Vocabulary, placement: Placement) -> None:
        self._vocabulary = vocabulary
        self._order = vocabulary.order
        self._known = [vocabulary.known[id] for id in self._order]
        self._states = ((1 << len(self._order)) - 1, *light(placement, self._order))
        self._plain = Claim(((Asked(placement.count, -1, (), ()),),), (False,), ())
        groups = [vocabulary.classes([attribute]) for attribute in vocabulary.telling()]
        cells = vocabulary.cells()[1]
        self._starts = tuple(starts(placement, [*groups, *([cells] if cells else [])], self._order))

    def common(self, form: Form) -> float:
        """Against the same count without constraints, to two places: more would tell apart what is alike."""
        return round(common(self._claim(form), self._plain, self._states), 2)

    def worst(self, form: Form, enough: int | None = None) -> int:
        """Entries of the inner function in the worst state; past `enough`, in one that is bad enough."""
        spec, driver, selected = self._read(form)
        return worst(Search(read_ask(spec, self._known, driver, selected)), self._starts, len(self._order), enough)

    def expressions(self, form: Form) -> int:
        """Different expressions of the claim, the class's among them."""
        return self._claim(form).expressions

    def _claim(self, form: Form) -> Claim:
        spec, driver, selected = self._read(form)
        return read_claim(spec, self._known, driver, selected)

    def _read(self, form: Form) -> tuple[dict[str, object], str, dict[str, int]]:
        spec, profile = form.spec(), self._vocabulary.profile
        return spec, profile.driver, let_in(spec, self._order, profile)
