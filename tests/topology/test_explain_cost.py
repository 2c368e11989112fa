"""Where the search itself is the trouble, what it costs is said, and what would cost less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.topology.box16 import BOX, TEMPLATES
from tests.topology.explained import alone, claim, devices_of, explained, match, text
from tests.topology.test_proof_replica import objects as box_objects
from tests.topology.worlds import npus, one, slice_of
from topology.explain import LIMIT, Verdict
from topology.profiles import OPENFUYAO
from topology.simulate.proposal import proposed_spec
from topology.template import Template


class TestWhatTheSearchCosts:
    @pytest.mark.timeout(120)
    def test_the_proposals_sixteen_with_one_npu_in_use_cost_the_scheduler_dear(self) -> None:
        template = TEMPLATES["npu-box16-16"]
        theirs = Template(**{**vars(template), "spec": proposed_spec(16, 8, OPENFUYAO)})
        found = explained(box_objects(BOX, theirs, [3]), "jobs/pending")
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert alone(found).calls == (528_839,)
        assert "That is much: the scheduler gives a search up after 10 s" in text(found)
        assert devices_of(found) == ["npu-3"]
        assert not alone(found).conflict.constraints, "sixteen of fifteen: the constraints are not to blame"  # type: ignore[union-attr]
        ours = explained(box_objects(BOX, template, [3]), "jobs/pending")
        assert max(alone(ours).calls) < 200, "the shipped template asks for the same set"
        assert "That is much" not in text(ours)

    def test_a_search_that_does_not_end(self) -> None:
        # Twenty-four requests that must be of one ring, of which each has twenty-three.
        requests = [one(f"r{n}") for n in range(12)]
        things = [slice_of(npus(22, group=11)), claim(*requests, constraints=[match("ring")])]
        found = explained(things, limit=60_000)
        assert found.verdict is Verdict.NOT_SEARCHED, "less was searched than the scheduler would"
        assert "The search was left after 60,000 calls" in text(found)
        given_up = replace(alone(found), verdict=Verdict.GIVEN_UP, calls=(LIMIT,))
        assert (
            "After 4,000,000 calls the search has not ended. That is much: the scheduler gives a search up after 10 s, "
            "which some hundred thousand to a few million calls use up"
        ) in text(replace(found, nodes=(given_up,)))

    def test_a_search_in_another_order_is_proposed_where_it_costs_a_tenth(self) -> None:
        template = TEMPLATES["npu-box16-12"]
        theirs = Template(**{**vars(template), "spec": proposed_spec(12, 8, OPENFUYAO)})
        found = alone(explained(box_objects(BOX, theirs, [0, 1, 2]), "jobs/pending"))
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert found.calls[0] > 100_000
        assert found.remedies.reorder is not None
        assert found.remedies.reorder.calls < found.calls[0] / 10
        assert sorted(found.remedies.reorder.requests) == sorted(f"npu{n}" for n in range(1, 13))
        assert len(found.remedies.free.holdings) == 1, "one more pair is all that it takes"  # type: ignore[union-attr]
