"""The real scheduler gives NPUs that keep the promise in the template's name, on a free server and on a used one.

The first four are the end-to-end cases of oFEP-0062.
"""

from __future__ import annotations

from typing import Any

import pytest

from sandbox import show
from tests.e2e.conftest import REPORT, Deployed
from tests.e2e.jobs import occupied, pod
from tests.topology.wirings import shipped
from topology.promise import Keeps, Promise, broken

pytestmark = pytest.mark.real

BOX = shipped("box16")


def test_eight_npus_of_one_ring(deployed: Deployed) -> None:
    with deployed.api() as api, occupied(api, "box16", [0]), pod(api, "eight", "box16", "npu-box16-8") as given:
        assert given.ids == tuple(range(8, 16)), "NPU 0 is taken, so only the second ring has eight"


def test_four_npus_of_one_ring_and_numa_node(deployed: Deployed) -> None:
    with deployed.api() as api, occupied(api, "box16", [0, 13]), pod(api, "four", "box16", "npu-box16-4") as given:
        assert not broken(BOX, given.ids, Promise(4, (Keeps.ONE_RING, Keeps.ONE_NUMA))), given
        assert set(given.ids) in ({4, 5, 6, 7}, {8, 9, 10, 11}), "the other quarters have one taken"


def test_twelve_npus_mirrored_over_both_rings(deployed: Deployed) -> None:
    with deployed.api() as api, occupied(api, "box16", [3, 12]), pod(api, "twelve", "box16", "npu-box16-12") as given:
        assert not broken(BOX, given.ids, Promise(12, (Keeps.MIRRORED, Keeps.EVEN_RINGS))), given
        assert not {3, 11, 4, 12} & set(given.ids), "an NPU whose partner is taken has no mirror"


def test_a_prioritized_list_falls_back_when_the_rings_are_taken(deployed: Deployed) -> None:
    with deployed.api() as api:
        with occupied(api, "box16", [0, 8]), pod(api, "strict", "box16", "npu-box16-8", wait=3) as given:
            assert given.node is None, "no ring has eight free, and a strict template waits"
        with occupied(api, "box16", [0, 8]), pod(api, "relaxed", "box16", "npu-box16-8-relaxed") as given:
            assert given.request == "npu/numa", "no ring has eight free, but the second NUMA node has"
            assert given.ids == (4, 5, 6, 7, 12, 13, 14, 15)
        with occupied(api, "box16", [0, 12]), pod(api, "looser", "box16", "npu-box16-8-relaxed") as given:
            assert given.request == "npu/any", "neither a ring nor a NUMA node has eight free"
            assert len(given.ids) == 8
        with pod(api, "free", "box16", "npu-box16-8-relaxed") as given:
            assert given.request == "npu/ring", "on a free server the best alternative is taken"


def test_a_module_with_one_die_taken_is_not_given(deployed: Deployed) -> None:
    with deployed.api() as api, occupied(api, "800t-a3", [1, 4]), pod(api, "dies", "800t-a3", "npu-800t-a3-4") as given:
        assert given.ids == (2, 3, 6, 7)


def test_every_template_of_every_server_keeps_its_promise(deployed: Deployed) -> None:
    outcomes = show.try_all(deployed.up.sandbox, deployed.plan, REPORT)
    assert {outcome.template for outcome in outcomes} == {
        template.name for _, templates in deployed.plan.templates for template in templates
    }
    assert [outcome for outcome in outcomes if not outcome.kept] == []


def test_every_template_keeps_its_promise_on_a_used_server(deployed: Deployed) -> None:
    """On an idle server the first devices of the slice already fit; here the first of them is taken."""
    with deployed.api() as api, occupied(api, "box16", [0]), occupied(api, "800i-a2", [0]), occupied(api, "310p3", [0]):
        for server, templates in deployed.plan.templates:
            for template in templates:
                if server.name not in ("box16", "800i-a2", "310p3") or template.shape == "relaxed":
                    continue
                if template.count > len(server.npus) - 2:
                    continue
                with pod(api, "used", server.name, template.name) as given:
                    assert not broken(server, given.ids, template.promises[""]), f"{template.name}: {given}"


def test_a_template_that_lies_is_caught(deployed: Deployed) -> None:
    """The judge is not the code that made the template: words without the constraint are seen through."""
    from dataclasses import replace

    from kubernetes import client

    from sandbox import trial

    server, templates = next(row for row in deployed.plan.templates if row[0].name == "box16")
    honest = next(template for template in templates if template.name == "npu-box16-4")
    naive = {"devices": {"requests": honest.spec["devices"]["requests"]}}
    liar = replace(honest, name="npu-box16-4-liar", spec=naive)
    with deployed.api() as api:
        resource: Any = client.ResourceV1Api(api)
        resource.create_namespaced_resource_claim_template("jobs", liar.manifest())
        try:
            with occupied(api, "box16", [0]):
                plan = trial.Plan(server, [liar], lambda template: ("jobs", template.name))
                (outcome,) = trial.run(deployed.api, [plan], deployed.plan.profile, lambda _: None)
        finally:
            resource.delete_namespaced_resource_claim_template(liar.name, "jobs")
    assert not outcome.kept
    assert outcome.devices == (1, 2, 3, 4)
    assert "NUMA" in outcome.broken[0]
