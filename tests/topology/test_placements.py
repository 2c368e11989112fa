"""Every count a job may ask is answered with the sets that MindCluster's rules allow, found from the wiring alone."""

from __future__ import annotations

import pytest

from tests.topology.mindcluster import A2, A3, A800_9000, BOX16, CARD_350_1P, CARD_350_4P, I300_PRO, Rule, anything
from tests.topology.wirings import mesh, modules, quads_910a, server, shipped
from topology.model import Server
from topology.placements import choices
from topology.promise import Keeps, Promise, broken

BY_PAIRS = {"affinity": lambda id: f"{24 * (id // 2)}-{24 * (id // 2) + 23}"}
MODELS: dict[str, tuple[Server, Rule]] = {
    "Box16": (shipped("box16"), BOX16),
    "800I A2": (shipped("800i-a2"), A2),
    "910B3": (shipped("910b3"), A2),
    "800T A3": (shipped("800t-a3"), A3),
    "310P3": (shipped("310p3"), I300_PRO),
    "350 4P": (shipped("350-4p"), CARD_350_4P),
    "350 1P": (shipped("350-1p"), CARD_350_1P),
    "910A": (server(quads_910a, **BY_PAIRS), A800_9000),
}
each_model = pytest.mark.parametrize("model", list(MODELS))


@each_model
def test_the_counts_are_those_of_mindcluster(model: str) -> None:
    found, rule = MODELS[model]
    assert {choice.count for choice in choices(found)} == rule.allowed.keys() | rule.beyond


@each_model
def test_no_strict_set_breaks_mindclusters_rule(model: str) -> None:
    found, rule = MODELS[model]
    for choice in choices(found):
        allowed = rule.allowed.get(choice.count, anything)
        for tier in choice.tiers[: choice.strict]:
            for ids in tier.sets():
                assert allowed(ids), f"{sorted(ids)} for {tier.shape} breaks {rule.policy}"


@each_model
def test_every_set_keeps_the_promise_of_its_placement(model: str) -> None:
    found, _ = MODELS[model]
    for choice in choices(found):
        for tier in choice.tiers:
            for ids in tier.sets():
                assert not broken(found, ids, tier.promise)


@each_model
def test_a_later_tier_allows_more(model: str) -> None:
    found, _ = MODELS[model]
    for choice in choices(found):
        seen: set[frozenset[int]] = set()
        for tier in choice.tiers:
            sets = set(tier.sets())
            assert sets - seen, f"{tier.shape} for {choice.count} allows nothing that a better one did not"
            seen |= sets


def shapes(found: Server) -> dict[int, list[str]]:
    return {choice.count: [tier.shape for tier in choice.tiers] for choice in choices(found)}


def test_box16_goes_from_ring_and_node_to_mirrored_pairs() -> None:
    found = shapes(shipped("box16"))
    assert found[2] == ["ring-numa", "ring", "switch", "numa", "any"]
    assert found[4] == ["ring-numa", "ring", "numa", "any"], "a ring's half on one NUMA node is four NPUs"
    assert found[8] == ["ring", "numa", "any"]
    assert [found[count] for count in (10, 12, 14, 16)] == [["mirrored"]] * 3 + [["server"]]


def test_mirrored_sets_are_all_choices_of_partners() -> None:
    twelve = next(choice for choice in choices(shipped("box16")) if choice.count == 12)
    assert len(set(twelve.tiers[0].sets())) == 28, "6 of 8 pairs"


def test_a_ring_that_is_the_server_is_not_offered_twice() -> None:
    assert shapes(shipped("800i-a2"))[3] == ["ring"]


def test_a_module_is_never_split_for_more_than_one_die() -> None:
    found = shapes(shipped("800t-a3"))
    assert sorted(found) == [1, 2, 4, 6, 8]


def test_sixteen_dies_with_known_numa_nodes_prefer_one_node() -> None:
    found = server(modules, ids=range(16), label="Phy-ID", affinity=lambda id: f"{id // 8 * 80}-{id // 8 * 80 + 79}")
    assert shapes(found)[8] == ["dies-numa", "dies"]
    assert shapes(found)[10] == ["dies"]


def test_whole_quads_are_given_where_no_partner_joins_them() -> None:
    sixteen = server(lambda a, b: "UB" if a // 4 == b // 4 else "SYS", ids=range(16))
    assert shapes(sixteen)[12] == ["rings"]


def test_a_container_with_holes_gets_what_is_left() -> None:
    found = server(mesh, ids=(1, 3, 5), affinity=None)
    assert shapes(found) == {1: ["any"], 2: ["ring"], 3: ["ring"]}


@pytest.mark.parametrize(
    ("ids", "keeps", "says"),
    [
        ([0, 8], Keeps.ONE_RING, "[8] outside the ring of 0"),
        ([0, 4], Keeps.ONE_NUMA, "2 NUMA nodes"),
        ([0, 9], Keeps.MIRRORED, "0 has 0 PIX partners"),
        ([0, 1], Keeps.ONE_SWITCH, "[1] not below the PCIe switch of 0"),
        ([0, 1, 8, 2], Keeps.EVEN_RINGS, "the rings gave 3 and 1"),
        ([0, 1], Keeps.WHOLE_RINGS, "missing"),
        ([0, 1], Keeps.WHOLE_SERVER, "missing"),
        ([0, 0], Keeps.ONE_RING, "2 NPUs were promised, 1 given"),
        ([0, 99], Keeps.ONE_RING, "no NPU [99]"),
    ],
)
def test_a_broken_promise_is_seen_and_said(ids: list[int], keeps: Keeps, says: str) -> None:
    assert any(says in problem for problem in broken(shipped("box16"), ids, Promise(len(ids), (keeps,))))


def test_a_split_module_is_seen() -> None:
    assert broken(shipped("800t-a3"), [0, 2], Promise(2, (Keeps.WHOLE_DIES,)))
    assert not broken(shipped("800t-a3"), [2, 3], Promise(2, (Keeps.WHOLE_DIES,)))
