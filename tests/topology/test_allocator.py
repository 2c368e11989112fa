"""What the replica promises, in cases small enough to work out by hand. test_allocator_oracle.py has the original."""

from __future__ import annotations

from typing import Any

import pytest

from tests.topology.worlds import DRIVER, RING, Plain, busy, cel, device, everything, given, npus, one, run, slice_of
from topology.allocator import Allocated, Fatal, Unmodelled, Unsatisfiable


class TestOrder:
    def test_pools_go_by_driver_and_name_then_slices_by_name_then_devices_as_listed(self) -> None:
        parts: Plain = {"name": "p1", "generation": 1, "resourceSliceCount": 2}
        things = [
            slice_of([device("late")], "a", "p2"),
            slice_of([device("b2"), device("b1")], "b", pool=parts["name"]),
            slice_of([device("a1")], "a2", pool=parts["name"]),
        ]
        for thing in things[1:]:
            thing["spec"]["pool"] = parts
        assert given(run(things, one(count=4))) == ["a1", "b2", "b1", "late"]

    def test_a_pool_with_binding_conditions_comes_last(self) -> None:
        slow = device("slow", bindingConditions=["attached"], bindingFailureConditions=["failed"])
        assert given(run([slice_of([slow], "a", "a"), slice_of([device("now")], "b", "b")], one())) == ["now"]

    def test_the_first_alternative_that_leads_to_a_whole_solution_is_taken(self) -> None:
        alternatives = [
            {"name": name, "deviceClassName": "any", "count": count} for name, count in (("four", 4), ("two", 2))
        ]
        outcome = run([slice_of(npus(4))], {"name": "r", "firstAvailable": alternatives}, one("last"))
        assert isinstance(outcome, Allocated)
        assert [one.request for one in outcome.devices[0]] == ["r/two", "r/two", "last"]

    def test_several_claims_are_allocated_together(self) -> None:
        assert given(run([slice_of(npus(4))], one(count=2), claims=2)) == ["npu-0", "npu-1", "npu-2", "npu-3"]
        assert isinstance(run([slice_of(npus(3))], one(count=2), claims=2), Unsatisfiable)

    @pytest.mark.parametrize("version", ["1.34", "1.35"])
    def test_where_the_scheduler_takes_pools_by_chance_nothing_is_foretold(self, version: str) -> None:
        things = [slice_of([device("x")], "a", "p1"), slice_of([device("y")], "b", "p2")]
        with pytest.raises(Unmodelled, match="chance"):
            run(things, one(), version=version)
        outcome = run(things, one(selectors=cel('device.driver == "other"')), version=version)
        assert isinstance(outcome, Unsatisfiable), "what suits no pool does not depend on their order"


class TestAll:
    def test_one_busy_device_fails_the_node(self) -> None:
        assert given(run([slice_of(npus(3))], everything())) == ["npu-0", "npu-1", "npu-2"]
        outcome = run([slice_of(npus(3)), busy("npu-1")], everything())
        assert isinstance(outcome, Unsatisfiable), "the list is fixed before anything is tried"

    def test_no_device_is_not_all_devices(self) -> None:
        assert isinstance(run([slice_of([])], everything()), Unsatisfiable)

    def test_a_constraint_that_not_all_meet_fails_the_pod_everywhere(self) -> None:
        assert isinstance(run([slice_of(npus(16))], everything(), constraints=RING), Fatal)

    def test_an_incomplete_pool_fails_the_pod_everywhere(self) -> None:
        half = slice_of(npus(2))
        half["spec"]["pool"]["resourceSliceCount"] = 2
        assert isinstance(run([half], everything()), Fatal)

    def test_more_than_a_claim_can_hold_fails_the_pod_everywhere(self) -> None:
        outcome = run([slice_of(npus(33))], everything())
        assert isinstance(outcome, Fatal)
        assert "32" in outcome.why


class TestPools:
    def test_an_incomplete_pool_gives_nothing(self) -> None:
        half = slice_of(npus(2))
        half["spec"]["pool"]["resourceSliceCount"] = 2
        assert isinstance(run([half], one()), Unsatisfiable)
        assert given(run([half], one(), version="1.34")) == ["npu-0"], "1.34 gives out of it all the same"

    def test_slices_that_disagree_on_their_number_are_the_schedulers_chance(self) -> None:
        things = [slice_of([device("a")], "a"), slice_of([device("b")], "b")]
        things[1]["spec"]["pool"]["resourceSliceCount"] = 2
        with pytest.raises(Unmodelled, match="disagree"):
            run(things, one())

    def test_an_older_generation_is_ignored(self) -> None:
        new = slice_of([device("new")], "b")
        new["spec"]["pool"]["generation"] = 2
        assert given(run([slice_of([device("old")], "a"), new], one())) == ["new"]

    def test_a_name_given_twice_makes_the_pool_invalid(self) -> None:
        twice = slice_of([device("same"), device("same")])
        outcome = run([twice], one())
        assert isinstance(outcome, Unsatisfiable), "this node only"
        assert "duplicate device name same" in outcome.why
        assert isinstance(run([twice], one(), version="1.34"), Fatal), "in 1.34 the pod, everywhere"

    @pytest.mark.parametrize(
        ("scope", "offered"),
        [
            ({"allNodes": True}, True),
            ({"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}, True),
            ({"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["b"]}]}]}}, False),
            ({"nodeSelector": {"nodeSelectorTerms": [{}]}}, False),
            ({"nodeName": "elsewhere"}, False),
        ],
    )  # fmt: skip
    def test_a_slice_is_offered_to_the_nodes_it_selects(self, scope: Plain, offered: bool) -> None:
        thing = slice_of([device("x")])
        del thing["spec"]["nodeName"]
        thing["spec"] |= scope
        assert isinstance(run([thing], one()), Allocated) is offered

    def test_devices_may_select_their_nodes_one_by_one(self) -> None:
        thing = slice_of([device("not-here", nodeName="m"), device("here", nodeName="n")], perDeviceNodeSelection=True)
        del thing["spec"]["nodeName"]
        assert given(run([thing], one())) == ["here"]


class TestConstraints:
    def test_a_device_without_the_attribute_is_refused(self) -> None:
        devices = [device("bare"), device("a", {"ring": 1}), device("b", {"ring": 1})]
        assert given(run([slice_of(devices)], one(count=2), constraints=RING)) == ["a", "b"]
        assert isinstance(run([slice_of([device("bare")])], one(), constraints=RING), Unsatisfiable), "even alone"

    def test_a_number_is_not_a_text(self) -> None:
        devices = [device("a", {"ring": 0}), device("b", {"ring": "0"})]
        assert isinstance(run([slice_of(devices)], one(count=2), constraints=RING), Unsatisfiable)

    def test_the_full_name_of_the_drivers_own_attribute_is_the_bare_one(self) -> None:
        devices = [device("a", {f"{DRIVER}/ring": 1}), device("b", {"ring": 1}), device("c", {"std.example/ring": 1})]
        assert given(run([slice_of(devices)], one(count=2), constraints=RING)) == ["a", "b"]
        assert isinstance(run([slice_of(devices)], one(count=3), constraints=RING), Unsatisfiable)

    def test_one_that_names_a_subrequest_sleeps_while_another_is_chosen(self) -> None:
        alternatives = [{"name": name, "deviceClassName": "any", "count": 2} for name in ("ring", "loose")]
        constraint = {"requests": ["r/ring"], "matchAttribute": f"{DRIVER}/ring"}
        outcome = run(
            [slice_of(npus(2, group=1))], {"name": "r", "firstAvailable": alternatives}, constraints=[constraint]
        )
        assert isinstance(outcome, Allocated)
        assert {one.request for one in outcome.devices[0]} == {"r/loose"}

    def test_distinct_values(self) -> None:
        distinct = [{"distinctAttribute": f"{DRIVER}/ring"}]
        assert given(run([slice_of(npus(4, group=2))], one(count=2), constraints=distinct)) == ["npu-0", "npu-2"]
        devices = [device(name, {"ring": ring}) for name, ring in (("a", 0), ("b", 1), ("c", 0))]
        outcome = run([slice_of(devices)], one(count=3), constraints=distinct, version="1.36")
        assert given(outcome) == ["a", "b", "c"], "1.36 has forgotten a's value when it comes to c (kubernetes#140438)"
        assert isinstance(run([slice_of(devices)], one(count=3), constraints=distinct), Unsatisfiable)


class TestWhoMayHaveADevice:
    def test_a_taint_keeps_out_who_does_not_tolerate_it(self) -> None:
        hot = device("hot", taints=[{"key": "hot", "effect": "NoSchedule", "value": "1"}])
        noted = device("noted", taints=[{"key": "seen", "effect": "None"}])
        assert given(run([slice_of([hot, noted])], one())) == ["noted"], "the effect None is for information"
        tolerant = one(tolerations=[{"key": "hot", "operator": "Exists"}])
        assert given(run([slice_of([hot, noted])], tolerant)) == ["hot"]

    def test_admin_access_takes_what_others_hold_and_holds_nothing(self) -> None:
        things = [slice_of(npus(1)), busy("npu-0")]
        assert given(run(things, one(adminAccess=True))) == ["npu-0"]
        assert isinstance(run(things, one("a", adminAccess=True), one("b", adminAccess=True)), Unsatisfiable)
        assert given(run([slice_of(npus(1)), busy("npu-0", adminAccess=True)], one())) == ["npu-0"]

    def test_a_device_class_that_is_not_there_fails_the_pod_everywhere(self) -> None:
        request = {"name": "r", "exactly": {"deviceClassName": "none"}}
        assert isinstance(run([slice_of(npus(1))], request), Fatal)

    def test_more_than_32_devices_fail_the_pod_everywhere(self) -> None:
        assert isinstance(run([slice_of(npus(40))], one(count=33)), Fatal)
        assert isinstance(run([slice_of(npus(40))], one("a", count=20), one("b", count=13)), Fatal)
        assert isinstance(run([slice_of(npus(40))], one(count=32)), Allocated)

    def test_alternatives_that_can_only_be_too_many_fail_the_pod_everywhere(self) -> None:
        alternatives = [
            {"name": "many", "deviceClassName": "any", "count": 33},
            {"name": "all", "deviceClassName": "any", "allocationMode": "All"},
        ]
        outcome = run([slice_of(npus(33))], one("first"), {"name": "r", "firstAvailable": alternatives})
        assert isinstance(outcome, Fatal)


class TestShared:
    @staticmethod
    def vnpu(value: str, **policy: Any) -> Plain:
        capacity = {"value": value, **({"requestPolicy": policy} if policy else {})}
        return device("npu", capacity={"cores": capacity}, allowMultipleAllocations=True)

    @staticmethod
    def asking(name: str, cores: str) -> Plain:
        return one(name, capacity={"requests": {"cores": cores}})

    def test_shares_fit_until_the_capacity_is_used_up(self) -> None:
        thing = slice_of([self.vnpu("8")])
        assert given(run([thing], self.asking("a", "4"), self.asking("b", "4"))) == ["npu", "npu"]
        assert isinstance(run([thing], self.asking("a", "4"), self.asking("b", "5")), Unsatisfiable)
        held = busy("npu", shareID="1", consumedCapacity={"cores": "6"})
        assert isinstance(run([thing, held], self.asking("a", "4")), Unsatisfiable)
        assert given(run([thing, held], self.asking("a", "2"))) == ["npu"]

    def test_a_request_is_rounded_up_to_what_the_policy_allows(self) -> None:
        thing = slice_of([self.vnpu("8", default="2", validValues=["2", "4"])])
        assert isinstance(run([thing], self.asking("a", "3"), self.asking("b", "3")), Allocated)
        assert isinstance(run([thing], *(self.asking(name, "3") for name in "abc")), Unsatisfiable), "3 counts as 4"
        assert isinstance(run([thing], self.asking("a", "5")), Unsatisfiable), "more than any valid value"

    def test_fractions_are_stepped_from_1_37_on(self) -> None:
        span = {"min": "500m", "max": "4", "step": "500m"}
        thing = slice_of([self.vnpu("3", default="500m", validRange=span)])
        requests = [self.asking(name, "1200m") for name in "ab"]
        assert isinstance(run([thing], *requests), Allocated), "1.5 each"
        assert isinstance(run([thing], *requests, version="1.36"), Unsatisfiable), "2 each: 1.36 steps in whole numbers"

    def test_counters_are_shared_by_the_parts_of_a_device(self) -> None:
        def part(name: str, cores: str) -> Plain:
            return device(name, consumesCounters=[{"counterSet": "npu", "counters": {"cores": {"value": cores}}}])

        counters = slice_of([], "counters", sharedCounters=[{"name": "npu", "counters": {"cores": {"value": "8"}}}])
        parts = slice_of([part("whole", "8"), part("half-0", "4"), part("half-1", "4")], "parts")
        for thing in (counters, parts):
            thing["spec"]["pool"] = {"name": "n", "generation": 1, "resourceSliceCount": 2}
        assert given(run([counters, parts], one(count=2))) == ["half-0", "half-1"]
        assert isinstance(run([counters, parts, busy("half-1")], one(count=2)), Unsatisfiable)
