"""Each way in which a claim can fail is named for what it is, and what is advised is tried: with it, the claim fits."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.topology.explained import (
    ANY,
    alone,
    claim,
    devices_of,
    differ,
    explained,
    fits,
    freed,
    held,
    match,
    node,
    text,
)
from tests.topology.worlds import DRIVER, Plain, cel, device, everything, npus, one, slice_of, wrap
from topology.explain import Verdict


def numbered(pairs: list[tuple[int, int]]) -> list[Plain]:
    """Devices with (ring, numa)."""
    return [device(f"npu-{n}", {"ring": ring, "numa": numa}) for n, (ring, numa) in enumerate(pairs)]


def constraints(found: Any) -> list[str]:
    """The attributes of the conflict, without their domain."""
    return [constraint.attribute.partition("/")[2] for _, constraint in found.conflict.constraints]


class TestWaysToFail:
    def test_a_ring_in_fragments(self) -> None:
        things = [slice_of(npus(16)), held("a", "npu-0", "npu-3", "npu-5", pod="p"), held("b", "npu-8", "npu-9")]
        things.append(claim(one(count=8), constraints=[match("ring")]))
        found = explained(things)
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert constraints(alone(found)) == ["ring"]
        assert "0 has 5 free, 3 held; 1 has 6 free, 2 held" in text(found)
        assert devices_of(found) == ["npu-8", "npu-9"], "the other ring lacks three"
        assert fits(freed(things, found))
        count = alone(found).remedies.count
        assert count is not None
        assert count.count == 6, "the larger of the rings has six"
        assert fits([*things[:-1], claim(one(count=6), constraints=[match("ring")])])
        assert not fits([*things[:-1], claim(one(count=7), constraints=[match("ring")])])

    def test_ring_and_numa_node_over_one_request(self) -> None:
        # Each ring has four of each NUMA node; four are free on each NUMA node, and four in each ring.
        devices = numbered([(n // 4 % 2, n // 8) for n in range(16)])
        things = [
            slice_of(devices),
            held("a", "npu-0", "npu-1", "npu-4", "npu-5", "npu-8", "npu-9", "npu-12", "npu-13"),
        ]
        things.append(claim(one(count=4), constraints=[match("ring"), match("numa")]))
        found = explained(things)
        assert constraints(alone(found)) == ["ring", "numa"], "either alone could be met"
        (tally,) = alone(found).conflict.tallies  # type: ignore[union-attr]
        assert {row[0]: row[1] for row in tally.rows} == {(0, 0): 2, (0, 1): 2, (1, 0): 2, (1, 1): 2}
        assert len(devices_of(found)) == 2
        assert fits(freed(things, found))
        drops = {drop.what for drop in alone(found).remedies.drop}
        assert drops == {f"matchAttribute: {DRIVER}/ring", f"matchAttribute: {DRIVER}/numa"}
        assert fits([*things[:-1], claim(one(count=4), constraints=[match("ring")])])
        assert fits([*things[:-1], claim(one(count=4), constraints=[match("numa")])])

    def test_pairs_over_several_requests(self) -> None:
        devices = [device(f"npu-{n}", {"root": n // 2}) for n in range(6)]
        things = [slice_of(devices), held("a", "npu-1"), held("b", "npu-2", pod="p")]
        things.append(
            claim(one("x", 2), one("y", 2), constraints=[match("root", "x"), match("root", "y")]),
        )
        found = explained(things)
        assert [name for _, name in alone(found).conflict.requests] == ["x", "y"]  # type: ignore[union-attr]
        assert constraints(alone(found)) == ["root", "root"], "one pair is free: each could be met alone"
        assert "2 times 2 devices are asked for of one value each; 0 has 1 free, 1 held; 1 has 1" in text(found)
        assert len(devices_of(found)) == 1
        assert fits(freed(things, found))

    def test_two_constraints_that_only_conflict_together(self) -> None:
        things = [slice_of(numbered([(0, 0), (0, 0), (1, 1), (1, 1)]))]
        things.append(claim(one("x"), one("y"), constraints=[match("ring", "x", "y"), differ("numa", "x", "y")]))
        found = explained(things)
        assert sorted(constraints(alone(found))) == ["numa", "ring"]
        assert "together" in text(found)
        assert alone(found).remedies.hopeless, "no device is held"
        assert fits([*things[:-1], claim(one("x"), one("y"), constraints=[match("ring", "x", "y")])])
        assert fits([*things[:-1], claim(one("x"), one("y"), constraints=[differ("numa", "x", "y")])])
        assert len(alone(found).remedies.drop) == 2

    def test_a_constraint_that_has_nothing_to_do_with_it_is_not_blamed(self) -> None:
        things = [slice_of(numbered([(n // 2, 0) for n in range(6)]))]
        things.append(claim(one("x", 3), one("y"), constraints=[match("numa"), match("ring", "x")]))
        found = explained(things)
        assert constraints(alone(found)) == ["ring"]
        assert [name for _, name in alone(found).conflict.requests] == ["x"]  # type: ignore[union-attr]

    def test_a_class_that_selects_nothing(self) -> None:
        other = wrap("DeviceClass", "gpu", {"selectors": cel('device.driver == "gpu.example"')})
        request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
        found = explained([node(), ANY, other, slice_of(npus(4)), claim(request)])
        assert [one.why.value for one in alone(found).choices[0].refused] == ["class-selector"] * 4
        assert "No device of these nodes is of the class gpu." in found.notes
        assert 'device.driver == "gpu.example" is false' in text(found)
        assert fits([node(), ANY, slice_of(npus(4)), claim(one())]), "the other class has them"

    def test_a_request_selector_that_is_false(self) -> None:
        expression = f'device.attributes["{DRIVER}"].id > 13'
        things = [slice_of(npus(16)), claim(one(count=3, selectors=cel(expression)))]
        found = explained(things)
        assert {one.why.value for one in alone(found).choices[0].refused} == {"request-selector"}
        assert f"{expression} is false" in text(found)
        assert [(drop.kind, drop.what) for drop in alone(found).remedies.drop] == [("selector", expression)]
        assert fits([things[0], claim(one(count=3))])
        count = alone(found).remedies.count
        assert count is not None
        assert count.count == 2
        assert fits([things[0], claim(one(count=2, selectors=cel(expression)))])

    def test_a_field_that_is_not_there(self) -> None:
        expression = f'device.attributes["{DRIVER}"].nope == 1'
        devices = [device("npu-0"), device("npu-1", {"nope": 1})]
        found = explained([slice_of(devices), claim(one(selectors=cel(expression)))])
        assert found.verdict is Verdict.FAILS, "one device without the field fails the pod everywhere"
        fault = alone(found).fault
        assert fault is not None
        assert (fault.kind, fault.request, fault.detail) == ("selector-error", "r", expression)
        assert '"nope" is there, with has' in fault.remedy
        guarded = f'has(device.attributes["{DRIVER}"].nope) && {expression}'
        assert fits([slice_of(devices), claim(one(selectors=cel(guarded)))])

    def test_devices_that_others_hold(self) -> None:
        things = [slice_of(npus(4)), held("a", "npu-0", "npu-1", pod="train-0"), held("b", "npu-2", pod="train-1")]
        things.append(claim(one(count=3)))
        found = explained(things)
        assert alone(found).holders[DRIVER, "n", "npu-2"] == ("default/b",)
        assert "2: held (npu-0, npu-1): claim default/a (pod default/train-0)" in text(found)
        assert len(devices_of(found)) == 2
        assert fits(freed(things, found))

    def test_a_taint(self) -> None:
        taint = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
        things = [slice_of([device("npu-0"), device("npu-1", taints=[taint])]), claim(one(count=2))]
        found = explained(things)
        assert "tainted broken=yes:NoSchedule, which the request does not tolerate (npu-1)" in text(found)
        assert [drop.kind for drop in alone(found).remedies.drop] == ["taint"]
        tolerating = one(count=2, tolerations=[{"key": "broken", "operator": "Exists"}])
        assert fits([things[0], claim(tolerating)])

    def test_devices_that_must_differ(self) -> None:
        things = [
            slice_of(numbered([(0, 0), (0, 0), (1, 0), (1, 0)])),
            claim(one(count=3), constraints=[differ("ring")]),
        ]
        found = explained(things)
        assert constraints(alone(found)) == ["ring"]
        assert "3 devices are asked for, and the free devices have 2 different values" in text(found)
        assert alone(found).remedies.hopeless
        count = alone(found).remedies.count
        assert count is not None
        assert count.count == 2
        assert fits([things[0], claim(one(count=2), constraints=[differ("ring")])])

    def test_all_of_which_one_is_held(self) -> None:
        things = [slice_of(npus(16)), held("a", "npu-7", pod="p"), claim(everything())]
        found = explained(things)
        assert "asks for all devices that it selects, and some of them are not to be had" in text(found)
        assert devices_of(found) == ["npu-7"]
        assert fits(freed(things, found))

    def test_alternatives_that_fail_each_for_a_reason_of_its_own(self) -> None:
        asks: list[Plain] = [
            {"name": "ring", "deviceClassName": "any", "count": 3},
            {"name": "big", "deviceClassName": "any", "count": 9},
            {"name": "new", "deviceClassName": "any", "selectors": cel(f'device.attributes["{DRIVER}"].ring == 7')},
        ]
        things = [slice_of(npus(8, group=2)), held("a", "npu-0")]
        things.append(claim({"name": "r", "firstAvailable": asks}, constraints=[match("ring", "r/ring")]))
        found = explained(things)
        inner = dict(alone(found).conflict.alternatives)  # type: ignore[union-attr]
        assert list(inner) == ["r/ring", "r/big", "r/new"]
        assert [constraint.attribute for _, constraint in inner["r/ring"].constraints] == [f"{DRIVER}/ring"]
        assert [(short.needs, short.free) for short in inner["r/big"].shortages] == [(9, 7)]
        assert [(short.needs, short.free) for short in inner["r/new"].shortages] == [(1, 0)]
        assert {(drop.kind, drop.requests) for drop in alone(found).remedies.drop} == {
            ("constraint", ("r/ring",)),
            ("selector", ("r/new",)),
        }
        plain = [{key: ask[key] for key in ask if key != "selectors"} for ask in asks]
        assert fits([*things[:-1], claim({"name": "r", "firstAvailable": plain[2:]})])

    def test_more_than_the_node_has(self) -> None:
        things = [slice_of(npus(4)), held("a", "npu-0"), claim(one(count=6))]
        found = explained(things)
        assert "request r asks for 6, and 3 could be taken" in text(found)
        assert alone(found).remedies.hopeless, "freeing cannot help"
        assert "Freeing devices does not help" in text(found), "it holds one, but even so"
        count = alone(found).remedies.count
        assert count is not None
        assert count.count == 3

    def test_a_pool_of_which_a_slice_is_missing(self) -> None:
        pool = {"name": "n", "generation": 2, "resourceSliceCount": 2}
        broken = slice_of(npus(4), pool=pool)  # type: ignore[arg-type]
        broken["spec"]["pool"] = pool
        found = explained([broken, claim(one())])
        assert {one.why.value for one in alone(found).choices[0].refused} == {"incomplete-pool"}
        assert "slices of its newest generation are missing" in text(found)
        second = deepcopy(broken)
        second["metadata"]["name"], second["spec"]["devices"] = "s2", [device("npu-9")]
        assert fits([broken, second, claim(one())])

    def test_capacity_of_a_shared_device_that_is_used_up(self) -> None:
        shared = device("npu-0", allowMultipleAllocations=True, capacity={"mem": {"value": "10"}})
        share = {"shareID": "a", "consumedCapacity": {"mem": "8"}}
        things = [slice_of([shared]), held("a", "npu-0", pod="p", **share)]
        things.append(claim(one(capacity={"requests": {"mem": "4"}})))
        found = explained(things)
        assert [one.why.value for one in alone(found).choices[0].refused] == ["capacity-used-up"]
        assert "too little of their capacity is left (npu-0): claim default/a (pod default/p)" in text(found)
        assert fits(freed(things, found))

    def test_counters_of_another_drivers_gpu_that_are_used_up(self) -> None:
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 2}
        spec = {"driver": "gpu.example", "nodeName": "n", "pool": pool}
        counters = [{"name": "gpu", "counters": {"slots": {"value": "7"}}}]
        whole = {"name": "gpu-0", "consumesCounters": [{"counterSet": "gpu", "counters": {"slots": {"value": "7"}}}]}
        part = {"name": "mig-0", "consumesCounters": [{"counterSet": "gpu", "counters": {"slots": {"value": "3"}}}]}
        holder = held("a", "mig-0", pod="p")
        holder["status"]["allocation"]["devices"]["results"][0]["driver"] = "gpu.example"
        things = [
            wrap("ResourceSlice", "g1", {**spec, "sharedCounters": counters}),
            wrap("ResourceSlice", "g2", {**spec, "devices": [whole, part]}),
            holder,
            claim(one("gpu", selectors=cel('device.driver == "gpu.example"'))),
        ]
        found = explained(things)
        assert {one.device[2]: one.why.value for one in alone(found).choices[0].refused} == {
            "gpu-0": "counters-used-up",
            "mig-0": "held",
        }
        assert devices_of(found) == ["mig-0"]
        assert fits(freed(things, found))

    def test_a_class_that_is_not_there(self) -> None:
        found = explained([slice_of(npus(1)), claim({"name": "r", "exactly": {"deviceClassName": "npu"}})])
        assert found.verdict is Verdict.FAILS
        fault = alone(found).fault
        assert fault is not None
        assert (fault.kind, fault.detail, fault.request) == ("unknown-class", "npu", "r")
        assert "or name one that is there: any" in fault.remedy

    def test_more_than_a_claim_may_hold(self) -> None:
        found = explained([slice_of(npus(40)), claim(one("x", 20), one("y", 13))])
        assert found.verdict is Verdict.FAILS
        fault = alone(found).fault
        assert fault is not None
        assert fault.kind == "too-many"
        assert "at most 32" in fault.remedy
        assert fits([slice_of(npus(40)), claim(one("x", 20), one("y", 12))])

    def test_an_attribute_that_devices_lack(self) -> None:
        devices = [device("npu-0", {"ring": 0}), device("npu-1")]
        things = [slice_of(devices), claim(one(count=2), constraints=[match("ring")])]
        found = explained(things)
        assert f"without the attribute {DRIVER}/ring, which a constraint asks for (npu-1)" in text(found)
        assert [drop.what for drop in alone(found).remedies.drop] == [f"matchAttribute: {DRIVER}/ring"]
        assert fits([things[0], claim(one(count=2))])

    def test_all_and_a_constraint_that_they_cannot_meet(self) -> None:
        things = [slice_of(npus(16)), claim(everything(), constraints=[match("ring")])]
        found = explained(things)
        assert found.verdict is Verdict.FAILS
        assert alone(found).fault.kind == "all-and-constraint"  # type: ignore[union-attr]
        assert fits([things[0], claim(one(count=8), constraints=[match("ring")])]), "as the remedy says: a count"

    def test_two_requests_that_want_the_same_devices(self) -> None:
        narrow = one("x", 2, selectors=cel(f'device.attributes["{DRIVER}"].id < 3'))
        also = one("y", 2, selectors=cel(f'device.attributes["{DRIVER}"].id < 3'))
        found = explained([slice_of(npus(8)), claim(narrow, also)])
        assert "requests x, y ask for 4 devices together, and 3 could be taken" in text(found)
