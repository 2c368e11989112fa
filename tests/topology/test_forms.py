"""Forms are searched: of those with a bounded worst state the cheapest where it fits, in what the scheduler spends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.topology.allocations import possible
from tests.topology.wirings import SERVERS, box16, server, shipped
from topology.assumptions import assume
from topology.claims import compile_templates
from topology.devices import attributes, resource_slice
from topology.forms import choose as choosing
from topology.forms.candidates import candidates
from topology.forms.choose import AFFORDABLE, choose, pick, why
from topology.forms.cost import weighed
from topology.forms.form import Form
from topology.forms.grouped import runs
from topology.forms.measure import Measure
from topology.forms.work import Work, read_claim, work
from topology.model import Server
from topology.orders import slice_order
from topology.placements import Placement, choices
from topology.profiles import OPENFUYAO, PROFILES, RINGFENCE, DriverProfile
from topology.proof import key, prove, search_of
from topology.quads import quads
from topology.reasons import reasons
from topology.selectors import let_in
from topology.template import Template
from topology.vocabulary import Vocabulary

ALL = ["box16", "800i-a2", "910b3", "310p3", "800t-a3", "350-1p", "350-2p", "350-4p"]
EVERYTHING = 0xFFFF


def tightest(name: str, count: int) -> Placement:
    return next(choice.tiers[0] for choice in choices(shipped(name)) if choice.count == count)


def strict(found: Server) -> Iterator[Placement]:
    for choice in choices(found):
        yield from choice.tiers[: choice.strict]


def worked(template: Template, free: int, profile: DriverProfile = OPENFUYAO) -> Work:
    full = assume(shipped("box16"))
    order = slice_order(full, profile.order)
    known = attributes(full, profile)
    selected = let_in(template.spec, order, profile)
    return work(read_claim(template.spec, [known[id] for id in order], profile.driver, selected), free)


@pytest.mark.parametrize("name", ["openfuyao", "ringfence"])
def test_work_enters_the_inner_function_as_often_as_the_search_of_the_proofs(name: str) -> None:
    profile = PROFILES[name]
    for template in compile_templates(shipped("box16"), profile):
        search = search_of(shipped("box16"), template, profile)
        for free in (EVERYTHING, 0xFFFE, 0x7F7F, 0x3FFF, 0xE7EF, 0x0FF0, 0x0101, 0):
            done, found = worked(template, free, profile), search.run(free)
            assert (done.fits, done.calls) == (found.fits, found.calls), f"{template.name} {free:x}"


def test_expressions_are_counted_once_for_each_request_and_device_come_upon() -> None:
    templates = {template.name: template for template in compile_templates(shipped("box16"), OPENFUYAO)}
    assert worked(templates["npu-box16-1"], EVERYTHING) == Work(True, calls=4, classes=1)
    ring = worked(templates["npu-box16-8"], EVERYTHING)
    assert (ring.classes, ring.selectors) == (8, 0), "two cells of four, each NPU looked at once"
    assert worked(templates["npu-box16-4"], EVERYTHING).checks == 8, "ring and node are asked about each of four"


MEASURED: dict[str, tuple[float, Work]] = {
    "count 1": (9.9, Work(calls=4.0, classes=1.0)),
    "count 4": (18.3, Work(calls=6.8, classes=3.9)),
    "count 4, ring and node": (16.3, Work(calls=6.8, classes=3.9, checks=7.8)),
    "count 8": (20.5, Work(calls=8.7, classes=6.2)),
    "count 8, ring": (25.1, Work(calls=8.7, classes=6.2, checks=6.2)),
    "count 12": (33.9, Work(calls=15.4, classes=8.4)),
    "the proposal's 12": (55.2, Work(calls=22.0, classes=18.7, selectors=18.7, checks=35.3)),
    "six pairs": (68.7, Work(calls=18.7, classes=25.2, checks=28.8)),
    "six windows": (89.9, Work(calls=11.5, classes=23.4, selectors=23.4, checks=13.3)),
    "twelve windows": (216, Work(calls=14.9, classes=23.4, selectors=23.4, checks=13.3, compiled=13)),
}
"""Milliseconds of Filter for a pod in a burst on 100 Box16 (real scheduler v1.37.2), and the mean work on a server."""


@pytest.mark.parametrize("form", list(MEASURED))
def test_the_weights_give_what_the_real_scheduler_took(form: str) -> None:
    took, done = MEASURED[form]
    assert weighed(done) == pytest.approx(took, rel=0.25)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("driver", ["openfuyao", "ringfence"])
def test_every_form_that_is_known_allows_just_the_placements_sets(name: str, driver: str) -> None:
    """So none loses a set and none breaks a promise, whichever is taken."""
    found, profile = shipped(name), PROFILES[driver]
    known = {id: dict(values) for id, values in attributes(assume(found), profile).items()}
    for placement in strict(found):
        for form in candidates(Vocabulary.of(found, profile), placement):
            # Trying all of a large server takes minutes; its other families are tried on the smaller ones, and proven.
            if name == "box16" and "quads" not in form.family:
                continue
            wanted = set(placement.sets())
            assert possible(form.spec(), known, profile.driver) == wanted, f"{placement.count} {form.family}"


@pytest.mark.parametrize("driver", ["openfuyao", "ringfence"])
@pytest.mark.parametrize("name", ALL)
def test_the_worst_state_that_is_climbed_to_is_the_one_that_is_proven(name: str, driver: str) -> None:
    found, profile = shipped(name), PROFILES[driver]
    kept = {row["key"]: row["worst_calls"] for row in json.loads((SERVERS / name / "proofs.json").read_text())}
    templates = compile_templates(found, profile)
    for template, reason in zip(templates, reasons(found, templates, profile), strict=True):
        assert reason.why.chosen.worst == kept[key(found, template, profile)], template.name
        assert reason.why.chosen.family == template.annotations["ringfence.dev/form"]


def test_a_form_that_is_cheaper_where_it_fits_but_has_no_bound_is_not_taken() -> None:
    """Equal pairs are the cheapest way to say twelve, until a server is nearly full: 2,279 entries."""
    told = why(Vocabulary.of(shipped("box16"), OPENFUYAO), tightest("box16", 12))
    units = next(other for other in told.others if other.family == "units")
    assert units.common < told.chosen.common
    assert units.at_least
    assert units.worst > AFFORDABLE >= told.chosen.worst


class Told:
    """A measure that says what it was told: family → common, worst, expressions."""

    def __init__(self, **figures: tuple[float, int, int]) -> None:
        self._figures = figures

    def common(self, form: Form) -> float:
        return self._figures[form.family][0]

    def worst(self, form: Form, enough: int | None = None) -> int:
        return self._figures[form.family][1]

    def expressions(self, form: Form) -> int:
        return self._figures[form.family][2]


@pytest.mark.parametrize(
    ("figures", "taken", "because"),
    [
        ({"a": (1.0, 201, 1), "b": (2.0, 200, 1)}, "b", "the cheaper one has no bound"),
        ({"a": (3.0, 10, 1), "b": (2.0, 200, 1)}, "b", "within the bound a lower worst case buys nothing"),
        ({"a": (2.0, 50, 5), "b": (2.08, 60, 2)}, "b", "four per cent are no difference, three expressions are"),
        ({"a": (2.0, 50, 5), "b": (2.2, 60, 2)}, "a", "ten per cent are"),
        ({"a": (2.0, 50, 1), "b": (2.0, 60, 1)}, "a", "of equal ones the simpler, which comes first"),
        ({"a": (1.0, 900, 1), "b": (2.0, 300, 1)}, "b", "none is affordable: the lowest product"),
        ({"a": (1.0, 400, 1), "b": (2.0, 300, 1)}, "a", "none is affordable: the lowest product"),
    ],
)
def test_the_choice(figures: dict[str, tuple[float, int, int]], taken: str, because: str) -> None:
    forms = [Form(family) for family in figures]
    assert pick(forms, Told(**figures)).family == taken, because  # type: ignore[arg-type]


def test_a_form_that_loses_sets_is_refused_by_the_proof() -> None:
    """Three quads of four would be cheaper still for twelve NPUs, but six free pairs need not make three quads."""
    found = shipped("box16")
    template = next(t for t in compile_templates(found, RINGFENCE) if t.name == "npu-box16-12")
    devices = template.spec["devices"]
    quad = devices["requests"][0]
    greedy = {
        "requests": [{**quad, "name": f"q{n}"} for n in range(3)],
        "constraints": [{"requests": [f"q{n}"], "matchAttribute": RINGFENCE.quad} for n in range(3)],
    }
    proof = prove(found, replace(template, spec={"devices": greedy}), RINGFENCE)
    assert proof.lost > 0
    assert proof.broken == 0
    assert not proof.holds


@pytest.mark.parametrize("count", [10, 12, 14])
def test_groups_of_four_make_mirrored_pairs_cheaper_both_ways_and_need_no_ids(count: int) -> None:
    placement = tightest("box16", count)
    theirs = why(Vocabulary.of(shipped("box16"), OPENFUYAO), placement)
    ours = why(Vocabulary.of(shipped("box16"), RINGFENCE), placement)
    assert ours.chosen.common * 1.05 < theirs.chosen.common
    assert ours.chosen.worst < theirs.chosen.worst
    assert ours.chosen.expressions == 1, "the class's alone"
    (told,) = theirs.cheaper_with
    assert told == ("a group of four (two neighbouring pairs)", ours.chosen), "and it is told what to publish"
    assert ours.cheaper_with == ()


def test_nobody_elses_driver_is_said_to_publish_what_only_ours_does() -> None:
    assert [name for name, profile in PROFILES.items() if profile.quad is not None] == ["ringfence"]
    for name in ("openfuyao", "openfuyao-standard-numa"):
        text = json.dumps([t.spec for t in compile_templates(shipped("box16"), PROFILES[name])])
        assert "quad" not in text.lower()
    assert RINGFENCE.quad is not None
    assert RINGFENCE.quad.startswith("npu.ringfence.dev/"), "in a domain of our own"
    device = resource_slice(assume(shipped("box16")), RINGFENCE, "n")["spec"]["devices"][8]
    assert device["attributes"]["npu.ringfence.dev/quadID"] == {"int": 0}


def test_quads_are_whole_pairs_of_one_node_or_none_at_all() -> None:
    box = quads(assume(shipped("box16")))
    assert {id for id, number in box.items() if number == 0} == {0, 1, 8, 9}
    odd = server(box16, ids=range(16), affinity=lambda id: "0-23" if id % 8 < 3 else "24-47")
    assert set(quads(odd).values()) == {None}, "three pairs on a node"
    assert set(quads(shipped("800i-a2")).values()) == {None}, "no pairs"


def test_the_same_wiring_gives_the_same_forms_every_time() -> None:
    def made() -> list[object]:
        choosing._CHOSEN.clear()  # what was remembered must not be what makes it the same
        return [template.manifest() for template in compile_templates(shipped("box16"), OPENFUYAO)]

    assert made() == made()


def test_a_form_is_chosen_for_the_order_in_which_the_driver_lists_its_devices() -> None:
    """Partners side by side are found at once, so there is less to save."""
    side_by_side = replace(RINGFENCE, order="pairs")
    placement = tightest("box16", 12)
    costs = {}
    for profile in (RINGFENCE, side_by_side):
        vocabulary = Vocabulary.of(shipped("box16"), profile)
        costs[profile.order] = Measure(vocabulary, placement).common(choose(vocabulary, placement))
    assert costs["pairs"] < costs["id"]
    listed = resource_slice(shipped("box16"), side_by_side, "n")["spec"]["devices"]
    assert [device["name"] for device in listed[:4]] == ["npu-0", "npu-8", "npu-1", "npu-9"]


def test_the_proof_is_of_the_order_too() -> None:
    found = shipped("350-4p")
    other = replace(OPENFUYAO, order="scattered")
    assert slice_order(found, "scattered") != found.ids
    for template in compile_templates(found, other):
        proof = prove(found, template, other)
        assert proof.holds, proof
        assert proof.worst_calls < AFFORDABLE


@pytest.mark.parametrize(
    ("wanted", "found"), [(5, {(2,), (2, 2), (3,)}), (6, {(2,), (2, 2), (3,), (3, 2)}), (2, set())]
)
def test_what_every_split_over_two_nodes_of_four_has_room_for(wanted: int, found: set[tuple[int, ...]]) -> None:
    """Six of eight units are four and two or three and three: three and two have room in both, four have not."""
    assert set(runs(2, 4, wanted)) == found


def test_what_our_own_driver_makes_possible_is_proven_as_shipped() -> None:
    found = shipped("box16")
    kept = {row["key"]: row for row in json.loads((SERVERS / "box16" / "proofs.json").read_text())}
    template = next(t for t in compile_templates(found, RINGFENCE) if t.name == "npu-box16-12")
    proof = prove(found, template, RINGFENCE)
    assert proof.holds
    assert (proof.worst_calls, list(proof.worst_state)) == (
        kept[proof.key]["worst_calls"],
        kept[proof.key]["worst_state"],
    )
