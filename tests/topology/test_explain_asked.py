"""Whatever is asked about, a claim or a pod with several, is answered for what it is; other templates are proposed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.topology.box16 import BOX, TEMPLATES
from tests.topology.explained import ANY, alone, claim, explained, fits, held, node, text
from tests.topology.test_proof_replica import objects as box_objects
from tests.topology.worlds import Plain, device, npus, one, slice_of, wrap
from topology.explain import NotThere, Verdict


class TestWhatIsAsked:
    def pod(self, *entries: Plain, **more: Any) -> Plain:
        metadata = {"name": "p", "namespace": "default"}
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": metadata,
            "spec": {"resourceClaims": list(entries)},
            **more,
        }

    def test_a_claim_that_fits_is_not_pending_for_want_of_devices(self) -> None:
        found = explained([slice_of(npus(2)), claim(one())])
        assert found.verdict is Verdict.FITS
        assert "not for want of devices" in text(found)
        assert "nodeSelector" in found.notes[-1], "what is not looked at is said"

    def test_a_claim_that_is_allocated(self) -> None:
        found = explained([slice_of(npus(2)), held("c", "npu-1")])
        assert (found.verdict, found.nodes) == (Verdict.ALLOCATED, ())
        assert "default/c has npu-1" in text(found)

    def test_claims_of_a_pod_compete(self) -> None:
        things = [slice_of(npus(3)), claim(one(count=2), name="c1"), claim(one(count=2), name="c2")]
        things.append(self.pod({"name": "a", "resourceClaimName": "c1"}, {"name": "b", "resourceClaimName": "c2"}))
        found = explained(things, "pod/p")
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert [key for key, _ in alone(found).conflict.requests] == ["default/c1", "default/c2"]  # type: ignore[union-attr]
        assert "requests r of default/c1, r of default/c2 ask for 4 devices together" in text(found)
        single = explained(things, "c1")
        assert single.verdict is Verdict.FITS
        assert "explain pod/default/p" in single.notes[0]

    def test_a_pod_whose_claim_is_not_made_yet(self) -> None:
        template = wrap("ResourceClaimTemplate", "t", {"spec": claim(one(count=3))["spec"]})
        entry = {"name": "a", "resourceClaimTemplateName": "t"}
        found = explained([slice_of(npus(2)), template, self.pod(entry)], "pod/default/p")
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert found.subject.unmade == ("default/p-a",)
        with pytest.raises(NotThere, match="template default/t, which is not there"):
            explained([slice_of(npus(2)), self.pod(entry)], "pod/p")

    def test_a_claim_that_has_devices_holds_the_pod_to_its_node(self) -> None:
        def on(name: str) -> Plain:
            return slice_of(npus(2), name=name, pool=name, nodeName=name)

        mine = held("c1", "npu-0")
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
        mine["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
        things = [node(), node("m"), ANY, on("n"), on("m"), mine, claim(one(count=2), name="c2")]
        things.append(self.pod({"name": "a", "resourceClaimName": "c1"}, {"name": "b", "resourceClaimName": "c2"}))
        found = explained(things, "pod/p")
        assert [one.nodes for one in found.nodes] == [("n",)]
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert alone(found).remedies.free is None, "what the pod itself has is not to be freed for it"
        assert explained(things, "c2").verdict is Verdict.FITS, "alone it would fit on m"

    def test_no_driver_publishes_anything(self) -> None:
        found = explained([node(), ANY, claim(one())])
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert "No driver publishes any device" in found.notes[0]
        assert "it offers no device at all" in text(found)

    def test_a_pending_claim_of_others_may_be_what_it_likes(self) -> None:
        other = claim({"name": "r", "exactly": {"deviceClassName": "any", "colour": "red"}}, name="other")
        assert explained([slice_of(npus(1)), other, claim(one())]).verdict is Verdict.FITS

    def test_a_name_must_be_there_once(self) -> None:
        elsewhere = claim(one())
        elsewhere["metadata"] = {"name": "c", "namespace": "other"}
        with pytest.raises(NotThere, match="default/c, other/c"):
            explained([slice_of(npus(1)), claim(one()), elsewhere])
        with pytest.raises(NotThere, match="there is no ResourceClaim x"):
            explained([slice_of(npus(1)), claim(one())], "x")

    def test_another_template_of_the_server_is_proposed_if_it_fits(self) -> None:
        # Seven free in one ring, four in the other, none of the NUMA nodes whole.
        busy = [0, 9, 10, 13, 14]
        offered = [one.manifest("jobs") for one in TEMPLATES.values()]
        things = [*box_objects(BOX, TEMPLATES["npu-box16-8"], busy), *offered]
        found = alone(explained(things, "jobs/pending"))
        proposed = [one.template for one in found.remedies.templates]
        assert proposed == ["npu-box16-8-relaxed"]
        assert fits(box_objects(BOX, TEMPLATES[proposed[0]], busy))

    def test_where_none_for_as_many_fits_the_next_smaller_is_proposed(self) -> None:
        busy = [0, 1, 9, 10, 11, 12, 13, 14, 15]
        offered = [one.manifest("jobs") for one in TEMPLATES.values()]
        things = [*box_objects(BOX, TEMPLATES["npu-box16-8"], busy), *offered]
        proposed = alone(explained(things, "jobs/pending")).remedies.templates
        assert {one.count for one in proposed} == {7}
        for one_ in proposed:
            assert fits(box_objects(BOX, TEMPLATES[one_.template], busy))

    def test_what_the_replica_does_not_model_on_a_node_is_said_of_that_node(self) -> None:
        # Two slices that could serve a request: 1.35 takes them in an order of chance.
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 2}
        two = [slice_of(npus(2)), slice_of([device("x")], name="s2")]
        for one_ in two:
            one_["spec"]["pool"] = pool
        from topology.allocator import VERSIONS

        found = explained([*two, claim(one())], version=VERSIONS["1.35"])
        assert found.verdict is Verdict.UNMODELLED
        assert "order of chance" in text(found)
