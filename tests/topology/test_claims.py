"""A template allows just the sets of its placement, within the API's caps, the same bytes every time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topology.allocations import alternatives, possible
from tests.topology.wirings import box16, mesh, quads_910a, server, shipped, text
from topology.assumptions import assume
from topology.capture import read_server
from topology.claims import compile_server, compile_templates, wiring_hash
from topology.devices import attributes, quantity, resource_slice
from topology.errors import TopologyError
from topology.model import Server
from topology.placements import choices
from topology.profiles import OPENFUYAO, PROFILES, profile
from topology.promise import Keeps, broken
from topology.template import Template

SERVERS = ["box16", "800i-a2", "910b3", "310p3", "800t-a3", "350-1p", "350-2p", "350-4p"]
each_server = pytest.mark.parametrize("name", SERVERS)
GOLDEN = Path(__file__).parent / "golden"


def known(found: Server) -> dict[int, dict[str, int | str]]:
    return {id: dict(values) for id, values in attributes(assume(found), OPENFUYAO).items()}


def by_name(found: Server) -> dict[str, Template]:
    return {template.name: template for template in compile_templates(found, OPENFUYAO)}


@each_server
def test_a_strict_template_allows_just_its_placements_sets(name: str) -> None:
    found = shipped(name)
    tiers = {(choice.count, tier.shape): tier for choice in choices(found) for tier in choice.tiers}
    for template in compile_templates(found, OPENFUYAO, relaxed=False):
        wanted = set(tiers[template.count, template.shape].sets())
        assert possible(template.spec, known(found), OPENFUYAO.driver) == wanted, template.name


@each_server
def test_a_relaxed_template_lists_the_tiers_in_order_and_each_keeps_its_promise(name: str) -> None:
    found = shipped(name)
    tiers = {choice.count: choice.tiers for choice in choices(found)}
    for template in compile_templates(found, OPENFUYAO):
        if template.shape != "relaxed":
            continue
        listed = list(alternatives(template.spec, known(found), OPENFUYAO.driver))
        assert [name.split("/")[1] for name, _ in listed] == [tier.shape for tier in tiers[template.count]]
        for (request, sets), tier in zip(listed, tiers[template.count], strict=True):
            assert sets == set(tier.sets()), f"{template.name} {request}"
            assert all(not broken(found, ids, template.promises[request]) for ids in sets)


@each_server
def test_the_caps_of_the_api_are_kept(name: str) -> None:
    """Caps of resource.k8s.io/v1: 32 requests, 32 constraints, 32 devices a claim, 8 alternatives, DNS labels."""
    for template in compile_templates(shipped(name), OPENFUYAO):
        devices = template.spec["devices"]
        assert len(devices["requests"]) <= 32
        assert len(devices.get("constraints", [None])) in range(1, 33), "an empty list would differ for ever"
        names = [request["name"] for request in devices["requests"]]
        assert len(set(names)) == len(names)
        for request in devices["requests"]:
            assert len(request.get("firstAvailable", [])) <= 8
            names += [f"{request['name']}/{sub['name']}" for sub in request.get("firstAvailable", [])]
            assert ("exactly" in request) != ("firstAvailable" in request)
        for constraint in devices.get("constraints", []):
            assert set(constraint["requests"]) <= set(names)
            assert re.fullmatch(r"[a-z0-9.-]+/[A-Za-z_][A-Za-z0-9_]{0,31}", constraint["matchAttribute"])
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", template.name)
        assert len(template.name) <= 63
        assert all(re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", v) for v in template.labels.values())


@each_server
def test_what_a_server_writes_is_written_here_so_that_nothing_drifts(name: str) -> None:
    for template in compile_templates(shipped(name), OPENFUYAO):
        requests = template.spec["devices"]["requests"]
        asked = [sub for r in requests for sub in ([r["exactly"]] if "exactly" in r else r["firstAvailable"])]
        assert all(sub["allocationMode"] == "ExactCount" for sub in asked)
        if template.shape == "relaxed":
            assert {sub["count"] for sub in asked} == {template.count}, "each alternative is for all of them"
        else:
            assert sum(sub["count"] for sub in asked) == template.count


@each_server
def test_the_templates_are_those_in_the_golden_file(name: str) -> None:
    """Regenerate by `make golden`, and read the difference."""
    made = [template.manifest() for template in compile_templates(shipped(name), OPENFUYAO)]
    assert yaml.safe_dump_all(made, sort_keys=False) == (GOLDEN / f"{name}.yaml").read_text()


def test_the_plain_name_is_the_tightest_and_looser_ones_say_their_shape() -> None:
    names = [name for name in by_name(shipped("box16")) if name.startswith("npu-box16-4")]
    assert names == ["npu-box16-4", "npu-box16-4-ring", "npu-box16-4-relaxed"]
    assert by_name(shipped("box16"))["npu-box16-4"].promises[""].keeps == (Keeps.ONE_RING, Keeps.ONE_NUMA)


def test_a_template_that_rests_on_an_assumption_says_so() -> None:
    annotations = by_name(shipped("box16"))["npu-box16-12"].annotations
    assert annotations["ringfence.dev/assumes"] == "chip=910B4, pcie-root=pix-group"
    bare = server(box16, ids=range(16), affinity=lambda id: "0-23" if id % 8 < 4 else "24-47")
    assert by_name(bare)["npu-test-12"].annotations["ringfence.dev/assumes"] == "pcie-root=pix-group"
    assert "ringfence.dev/assumes" not in by_name(bare)["npu-test-8"].annotations


INFO_ROW = """
| {id}     910B4               | OK            | 1.0         43                0    / 0             |
| 0                         | 0000:{id:02X}:00.0  | 0           0    / 0          3318 / 65536         |"""
INFO = """
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |""" + "".join(
    INFO_ROW.format(id=id) for id in range(16)
)


def captured(root: dict[int, str]) -> Server:
    pci = "\n".join(f"0000:{id:02x}:00.0 {root[id]} {0 if id % 8 < 4 else 1}" for id in range(16))
    topo = text(box16, ids=range(16), affinity=lambda id: "0-23" if id % 8 < 4 else "24-47")
    return read_server("test", topo, INFO, pci)


def test_with_captured_roots_nothing_is_assumed() -> None:
    found = captured({id: f"pci0000:{id % 8:02x}" for id in range(16)})
    assert "ringfence.dev/assumes" not in by_name(found)["npu-test-12"].annotations


def test_two_pairs_below_one_root_are_no_pair_and_the_template_is_refused() -> None:
    found = captured({id: f"pci0000:{id % 8 // 2:02x}" for id in range(16)})
    assert "npu-test-12" not in by_name(found)
    refused = [refused for refused in compile_server(found, OPENFUYAO).refused if refused.count == 12]
    assert "split them otherwise" in refused[0].reason
    with pytest.raises(TopologyError, match="no template for 12"):
        compile_templates(found, OPENFUYAO, [12])


def test_a_driver_without_topology_gets_only_what_it_can_be_held_to() -> None:
    compiled = compile_server(shipped("box16"), profile("mindcluster"))
    assert {template.shape for template in compiled.templates} == {"any", "server"}
    assert any("publishes nothing that tells one ring apart" in refused.reason for refused in compiled.refused)


def test_a_profile_spells_every_numa_constraint_one_way() -> None:
    for name in ("openfuyao", "openfuyao-standard-numa"):
        spelled = {
            constraint["matchAttribute"]
            for template in compile_templates(shipped("box16"), PROFILES[name])
            for constraint in template.spec["devices"].get("constraints", [])
            if "numa" in constraint["matchAttribute"].lower()
        }
        assert spelled == {PROFILES[name].qualified(str(PROFILES[name].numa))}


def test_a_count_beyond_the_server_is_an_error_that_lists_what_there_is() -> None:
    with pytest.raises(TopologyError, match=r"no template for 9 NPUs.*10, 12, 14, 16"):
        compile_templates(shipped("box16"), OPENFUYAO, [9])


def test_a_claim_never_asks_for_more_than_the_allocator_takes() -> None:
    found = server(mesh, ids=range(40), affinity=None)
    compiled = compile_server(found, OPENFUYAO)
    assert max(template.count for template in compiled.templates) == 32
    assert compiled.refused[0].reason.startswith("a claim may hold 32")


def test_unknown_attributes_are_absent_from_the_slice() -> None:
    bare = server(quads_910a, affinity=None)
    device = resource_slice(bare, OPENFUYAO, "n")["spec"]["devices"][3]
    assert device == {"name": "npu-3", "attributes": {"physicalId": {"int": 3}, "topoHccsRingID": {"int": 0}}}


def test_a_slice_has_what_the_captures_say() -> None:
    spec = resource_slice(shipped("910b3"), OPENFUYAO, "node-1")["spec"]
    assert spec["pool"] == {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    assert spec["devices"][2] == {
        "name": "npu-2",
        "attributes": {
            "physicalId": {"int": 2},
            "chipName": {"string": "910B3"},
            "resource.kubernetes.io/pciBusID": {"string": "0000:81:00.0"},
            "numaNode": {"int": 1},
            "topoHccsRingID": {"int": 0},
        },
        "capacity": {"memCapacity": {"value": "64Gi"}},
    }


@pytest.mark.parametrize(("mib", "text"), [(65536, "64Gi"), (44280, "44280Mi"), (1048576, "1Ti"), (1, "1Mi")])
def test_memory_is_written_as_the_api_server_writes_it_back(mib: int, text: str) -> None:
    assert quantity(mib) == text, "another spelling would differ from what was read back, for ever"


def test_ub_groups_are_published_as_rings_only_by_assumption() -> None:
    ub = server(lambda a, b: "UB" if a // 2 == b // 2 else "SYS")
    assert "topoHccsRingID" not in attributes(ub, OPENFUYAO)[0]
    assert attributes(assume(ub), OPENFUYAO)[0]["topoHccsRingID"] == 0


def test_the_wiring_hash_is_of_the_wiring_and_not_of_the_name() -> None:
    box = shipped("box16")
    assert wiring_hash(box) == wiring_hash(replace(box, name="other"))
    assert wiring_hash(box) != wiring_hash(shipped("800i-a2"))


def said(template: Template) -> tuple[object, ...]:
    """All but how it is written, which may follow the order of the NPUs in the slice."""
    annotations = {key: value for key, value in template.annotations.items() if key != "ringfence.dev/form"}
    return (template.name, template.count, annotations, template.promises)


@settings(max_examples=6, deadline=None)
@given(st.permutations(range(16)))
def test_renumbered_npus_give_the_same_promises(order: list[int]) -> None:
    """The wiring decides, not the numbers: rings and partners follow the NPUs wherever their ids go."""
    place = dict(enumerate(order))
    topo = text(
        lambda a, b: box16(place[a], place[b]),
        ids=range(16),
        affinity=lambda id: "0-23" if place[id] % 8 < 4 else "24-47",
    )
    found = read_server("test", topo)
    plain = server(box16, ids=range(16), affinity=lambda id: "0-23" if id % 8 < 4 else "24-47")
    assert [said(t) for t in compile_templates(found, OPENFUYAO)] == [
        said(t) for t in compile_templates(plain, OPENFUYAO)
    ]
    twelve = by_name(found)["npu-test-12"]
    assert all(
        not broken(found, ids, twelve.promises[""]) for ids in possible(twelve.spec, known(found), OPENFUYAO.driver)
    )
