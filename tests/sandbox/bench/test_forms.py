"""Every form of a claim that the bench compares asks for the same sets, and for what the API server takes."""

from __future__ import annotations

from itertools import combinations

import pytest

from sandbox.bench import predicted, states
from sandbox.bench.attempts import FAILING, FRAGMENTED, IDLE, cases, existing
from sandbox.bench.forms import FORMS, Spec
from sandbox.bench.kind import Kind, Order
from settings.servers import find_server
from tests.topology.allocations import possible
from topology.profiles import HAMI, OPENFUYAO

COUNTS = (1, 4, 8, 10, 12, 14, 16)
KIND = Kind.of(find_server("box16"), OPENFUYAO)
BUILT = [(name, count) for name in FORMS for count in COUNTS if FORMS[name](KIND, count) is not None]


def spec_of(name: str, count: int) -> Spec:
    spec = FORMS[name](KIND, count)
    assert spec is not None
    return spec


def fits(name: str, count: int, free: tuple[int, ...], order: Order = Order.BY_ID) -> bool:
    found = predicted.search(KIND, spec_of(name, count), order)
    return found.run(predicted.bits(KIND.ordered(order), free)).fits


def test_the_forms_exist_for_the_counts_they_are_meant_for() -> None:
    found = {name: tuple(count for built, count in BUILT if built == name) for name in FORMS}
    assert found["compiled"] == found["proposal"] == found["plain"] == COUNTS
    assert found["pairs"] == found["windows"] == found["half-windows"] == (10, 12, 14, 16)
    assert found["joined"] == (10, 12)
    assert found["quarters"] == (8, 14, 16)


@pytest.mark.parametrize(("name", "count"), BUILT)
def test_a_form_is_a_claim_that_the_api_server_takes(name: str, count: int) -> None:
    devices = spec_of(name, count)["devices"]
    names = [request["name"] for request in devices["requests"]]
    assert sum(request["exactly"]["count"] for request in devices["requests"]) == count
    assert len(set(names)) == len(names) <= 32
    assert len(devices.get("constraints", [])) <= 32
    assert devices.get("constraints") != [], "an empty list would come back as none"
    for constraint in devices.get("constraints", []):
        assert set(constraint["requests"]) <= set(names), "each entry is one name: the API refuses names with commas"
        assert "/" in constraint["matchAttribute"]


@pytest.mark.parametrize("count", [8, 14, 16])
def test_quarters_allow_just_the_sets_of_the_compiled_template(count: int) -> None:
    driver = OPENFUYAO.driver
    asked = possible(spec_of("quarters", count), KIND.known, driver)
    assert asked == possible(spec_of("compiled", count), KIND.known, driver)


@pytest.mark.parametrize(("form", "count"), [(form, count) for form, count in BUILT if count > 8 and form != "plain"])
def test_a_form_loses_nothing_and_allows_no_more_whichever_pairs_are_free(form: str, count: int) -> None:
    for free_pairs in range(9):
        for chosen in combinations(KIND.pairs, free_pairs):
            free = tuple(sorted(id for pair in chosen for id in pair))
            # The proposal's failing searches take seconds here too; the sets are the same for any other reason to fail.
            if form == "proposal" and free_pairs < count // 2:
                continue
            assert fits(form, count, free) == (free_pairs >= count // 2), f"{form} with {free} free"


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize(
    "case",
    existing(KIND, cases(COUNTS, [f for f in FORMS if f != "proposal"])),
    ids=lambda c: f"{c.template}-{c.state}",
)
def test_the_states_are_what_they_are_called(case: object, order: Order) -> None:
    from sandbox.bench.attempts import Case

    assert isinstance(case, Case)
    assert fits(case.form, case.count, case.free, order) is (case.state != FAILING)
    if case.state == FRAGMENTED:
        assert case.count <= len(case.free) < 16
    elif case.state == IDLE:
        assert case.free == states.ALL


def test_where_a_claim_must_fail_enough_npus_are_free_but_not_in_their_places() -> None:
    for count, free in states.FAILING.items():
        if count not in (1, 16):
            assert len(free) >= count - 1
            assert not fits("compiled", count, free)
    assert fits("plain", 12, states.FAILING[12]), "so it is the topology that cannot be met"


def test_an_order_lists_every_npu_once_and_partners_next_to_each_other() -> None:
    assert KIND.ordered(Order.BY_ID) == states.ALL
    assert KIND.ordered(Order.PARTNERS)[:6] == (0, 8, 1, 9, 2, 10)
    assert sorted(KIND.ordered(Order.PARTNERS)) == list(states.ALL)


def test_a_driver_without_topology_has_only_the_plain_form() -> None:
    kind = Kind.of(find_server("box16"), HAMI)
    assert [name for name in FORMS if FORMS[name](kind, 12) is not None] == ["plain"]
