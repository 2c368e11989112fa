"""Every shipped template is proven in every state of its server, by a search that counts as the scheduler's does."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from tests.topology.wirings import SERVERS, mesh, server, shipped
from topology.claims import compile_templates
from topology.errors import TopologyError
from topology.profiles import OPENFUYAO, PROFILES
from topology.proof import Proof, key, prove
from topology.search import Alternative, Ask, Join, Search
from topology.template import Template

SMALL = ["800i-a2", "910b3", "310p3", "800t-a3", "350-1p", "350-2p", "350-4p"]


def bits(*positions: int) -> int:
    return sum(1 << position for position in positions)


RINGS = (bits(*range(8)), bits(*range(8, 16)))
PAIRS = tuple(bits(i, i + 8) for i in range(8))
EVERY = (bits(*range(16)),)


def one(count: int, classes: tuple[int, ...]) -> Ask:
    return Ask(((Alternative("npu", count, classes),),), (False,))


def pairs(number: int) -> Ask:
    return Ask(tuple((Alternative(f"npu-{i}", 2, PAIRS),) for i in range(number)), (False,) * number)


@pytest.mark.parametrize(
    ("ask", "busy", "calls"),
    [
        (one(8, EVERY), range(7, 16), 128),
        (one(16, EVERY), [15], 32768),
        (one(8, RINGS), [7, 15], 255),
        (pairs(5), [4, 5, 6, 7], 517),
        (pairs(6), [13, 14, 15], 2279),
    ],
)
def test_a_failing_search_costs_what_the_allocator_was_counted_to_cost(ask: Ask, busy: list[int], calls: int) -> None:
    """Figures counted with another model of the allocator's search."""
    found = Search(ask).run(bits(*range(16)) & ~bits(*busy))
    assert (found.fits, found.calls) == (False, calls)


def test_a_search_that_fits_at_once_enters_once_for_each_device_and_for_the_ends() -> None:
    found = Search(one(8, RINGS)).run(bits(*range(16)))
    assert (found.fits, found.calls) == (True, 1 + 8 + 2), "the request, its devices, past the request, past the claim"


def test_joined_requests_stay_in_one_class() -> None:
    quarters = (bits(0, 1), bits(2, 3), bits(4, 5), bits(6, 7))
    halves = (bits(0, 1, 2, 3), bits(4, 5, 6, 7))
    two = (Alternative("a", 2, quarters),), (Alternative("b", 2, quarters),)
    search = Search(Ask(two, (False, False), (Join(frozenset({0, 1}), halves),)))
    assert search.run(bits(0, 1, 2, 3)).fits
    assert not search.run(bits(0, 1, 4, 5)).fits


def box16(template: str) -> Proof:
    return prove(shipped("box16"), by_name("box16", template), OPENFUYAO)


@pytest.mark.parametrize("count", [8, 10, 12, 14, 16])
def test_the_large_templates_of_a_box16_are_proven_and_cheap_in_every_state(count: int) -> None:
    """In one request, or in equal requests for pairs, these cost 255 to 32,768 entries."""
    proof = box16(f"npu-box16-{count}")
    assert proof.holds, proof
    assert proof.states == 65536
    assert proof.worst_calls < 200, proof


@pytest.mark.parametrize("name", SMALL)
def test_every_template_of_a_server_is_proven(name: str) -> None:
    for template in compile_templates(shipped(name), OPENFUYAO):
        proof = prove(shipped(name), template, OPENFUYAO)
        assert proof.holds, proof
        assert proof.states == 256
        assert proof.worst_calls < 200, proof


def by_name(name: str, template: str) -> Template:
    return next(found for found in compile_templates(shipped(name), OPENFUYAO) if found.name == template)


def test_a_template_that_allows_too_little_is_seen_to_lose() -> None:
    honest = by_name("350-4p", "npu-350-4p-2-relaxed")
    strict = by_name("350-4p", "npu-350-4p-2")
    proof = prove(shipped("350-4p"), replace(honest, spec=strict.spec), OPENFUYAO)
    assert proof.lost > 0
    assert not proof.holds


def test_a_template_that_allows_too_much_is_seen_to_break() -> None:
    honest = by_name("800t-a3", "npu-800t-a3-4")
    proof = prove(
        shipped("800t-a3"),
        replace(honest, spec={"devices": {"requests": honest.spec["devices"]["requests"]}}),
        OPENFUYAO,
    )
    assert proof.broken > 0
    assert not proof.holds


def test_a_server_too_large_to_prove_is_refused() -> None:
    large = server(mesh, ids=range(17), affinity=None)
    with pytest.raises(TopologyError, match="17 NPUs"):
        prove(large, compile_templates(large, OPENFUYAO)[0], OPENFUYAO)


@pytest.mark.parametrize("name", [*SMALL, "box16"])
def test_the_shipped_proofs_are_of_the_shipped_templates(name: str) -> None:
    """`pulumi up` takes them at their word, so they are worked out anew here. `ringfence claims prove` writes them."""
    kept = {row["key"]: row for row in json.loads((SERVERS / name / "proofs.json").read_text())}
    found = shipped(name)
    for template in compile_templates(found, OPENFUYAO):
        row = kept[key(found, template, OPENFUYAO)]
        assert row["template"] == template.name
        if name != "box16" or template.count in (2, 12):
            assert {**asdict(prove(found, template, OPENFUYAO))} == {**row, "worst_state": tuple(row["worst_state"])}


def test_a_proof_is_of_words_and_wiring_and_not_of_names() -> None:
    found = shipped("box16")
    template = by_name("box16", "npu-box16-4")
    spelled = next(t for t in compile_templates(found, PROFILES["openfuyao-standard-numa"]) if t.name == template.name)
    assert key(found, template, OPENFUYAO) == key(found, spelled, PROFILES["openfuyao-standard-numa"])
    assert key(found, template, OPENFUYAO) != key(found, by_name("box16", "npu-box16-4-ring"), OPENFUYAO)
