"""The devices that a claim gets are the scheduler's: compared with its search, and with its search written plainly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from tests.topology.wirings import shipped
from topology.assumptions import assume
from topology.claims import compile_templates
from topology.devices import Value, attributes
from topology.model import Server
from topology.orders import slice_order
from topology.profiles import OPENFUYAO
from topology.search import Ask, Search, read_ask
from topology.selectors import let_in
from topology.simulate.firstfit import FirstFit
from topology.simulate.proposal import SingleRequests, mirror, proposed_spec

SMALL = ["800i-a2", "910b3", "310p3", "800t-a3", "350-1p", "350-2p", "350-4p"]
Known = Sequence[Mapping[str, Value]]


def listed(name: str, order: str = "id") -> tuple[Server, Known, tuple[int, ...]]:
    """The server, its attributes in the slice's order, and that order."""
    full = assume(shipped(name))
    known, ids = attributes(full, OPENFUYAO), slice_order(full, order)
    return full, [known[id] for id in ids], ids


def ids_of(known: Known) -> list[int]:
    return [int(values["physicalId"]) for values in known]


def ask_of(spec: Mapping[str, Any], known: Known) -> Ask:
    return read_ask(spec, known, OPENFUYAO.driver, let_in(spec, ids_of(known), OPENFUYAO))


def states(seed: int, number: int, npus: int = 16) -> list[int]:
    """Free NPUs as bits, from nearly none to nearly all."""
    random = Random(seed)
    found = []
    for _ in range(number):
        chance = random.random()
        found.append(sum(1 << i for i in range(npus) if random.random() < chance))
    return found


@pytest.mark.parametrize("name", SMALL)
def test_it_fits_in_just_the_states_in_which_the_search_does(name: str) -> None:
    _, known, _ = listed(name)
    for template in compile_templates(shipped(name), OPENFUYAO):
        ask = ask_of(template.spec, known)
        search, first = Search(ask), FirstFit(ask)
        for free in range(1 << len(known)):
            fit, found = first.fit(free), search.run(free)
            assert (bool(fit.chosen), fit.calls) == (found.fits, found.calls), f"{template.name} with {free:08b} free"
            assert not fit.chosen & ~free, "a busy NPU was given"
            assert fit.chosen.bit_count() in (0, template.count)


def test_it_fits_in_just_the_states_in_which_the_search_does_on_sixteen() -> None:
    _, known, _ = listed("box16")
    for template in compile_templates(shipped("box16"), OPENFUYAO):
        ask = ask_of(template.spec, known)
        search, first = Search(ask), FirstFit(ask)
        for free in states(1, 150):
            assert bool(first.fit(free).chosen) == search.run(free).fits, f"{template.name} with {free:016b} free"


def plainly(spec: Mapping[str, Any], known: Known, free: int) -> list[int] | None:
    """The allocator's search with nothing left out or kept: positions of devices, in order, for one request after
    another, each checked against every constraint over what was chosen so far."""
    constraints = [(c["requests"], c["matchAttribute"].removeprefix("npu.huawei.com/")) for c in spec["constraints"]]

    windows = {
        request["name"]: set(selector["cel"]["expression"].rpartition("[")[2].strip("]").split(", "))
        for request in spec["requests"]
        for selector in request.get("exactly", {}).get("selectors", [])
        if " in [" in selector["cel"]["expression"]
    }

    def allowed(chosen: list[tuple[str, int]]) -> bool:
        if any(name in windows and str(known[at]["physicalId"]) not in windows[name] for name, at in chosen):
            return False
        for names, attribute in constraints:
            values = {known[at].get(attribute) for name, at in chosen if name in names or name.split("/")[0] in names}
            if len(values) > 1 or None in values:
                return False
        return True

    def one(number: int, chosen: list[tuple[str, int]]) -> list[int] | None:
        if number == len(spec["requests"]):
            return [at for _, at in chosen]
        request = spec["requests"][number]
        subs = [(f"{request['name']}/{sub['name']}", sub["count"]) for sub in request.get("firstAvailable", [])]
        for name, count in subs or [(request["name"], request["exactly"]["count"])]:
            found = slot(number, name, count, 0, chosen)
            if found is not None:
                return found
        return None

    def slot(number: int, name: str, missing: int, start: int, chosen: list[tuple[str, int]]) -> list[int] | None:
        if missing == 0:
            return one(number + 1, chosen)
        for at in range(start, len(known)):
            if not free >> at & 1 or any(at == other for _, other in chosen):
                continue
            following = [*chosen, (name, at)]
            if allowed(following):
                found = slot(number, name, missing - 1, at + 1, following)
                if found is not None:
                    return found
        return None

    return one(0, [])


@pytest.mark.parametrize("order", ["id", "pairs", "numa", "opposed"])
@pytest.mark.parametrize("name", ["box16", "800t-a3", "350-4p"])
def test_it_gives_the_first_solution_of_the_search_written_plainly(name: str, order: str) -> None:
    _, known, _ = listed(name, order)
    for template in compile_templates(shipped(name), OPENFUYAO):
        devices = template.spec["devices"]
        if "constraints" not in devices:
            continue
        first = FirstFit(ask_of(template.spec, known))
        for free in states(2, 20, len(known)):
            plain = plainly(devices, known, free)
            chosen = 0 if plain is None else sum(1 << at for at in plain)
            assert first.fit(free).chosen == chosen, f"{template.name} with {free:b} free"


@pytest.mark.parametrize("order", ["id", "pairs", "scattered"])
@pytest.mark.parametrize("count", [10, 12])
def test_the_proposals_layout_costs_what_its_search_costs(count: int, order: str) -> None:
    """Its cost is counted without walking it, so it is compared with a search that walks."""
    full, known, ids = listed("box16", order)
    found = mirror(full, ids)
    assert found is not None
    spec = proposed_spec(count, 8, OPENFUYAO)
    layout = SingleRequests(count // 2, found)
    random = Random(count)
    for _ in range(4):
        free = (1 << 16) - 1
        for busy in random.sample(range(16), random.randrange(5)):
            free &= ~(1 << busy)
        fit, searched = layout.fit(free), Search(ask_of(spec, known)).run(free)
        assert (bool(fit.chosen), fit.calls) == (searched.fits, searched.calls), f"{free:016b} free"


def test_the_proposals_layout_gives_what_the_plain_search_gives() -> None:
    full, known, ids = listed("box16")
    found = mirror(full, ids)
    assert found is not None
    layout = SingleRequests(5, found)
    for busy in ([0], [8], [1, 10], [0, 9, 15]):
        free = (1 << 16) - 1 & ~sum(1 << at for at in busy)
        plain = plainly(proposed_spec(10, 8, OPENFUYAO)["devices"], known, free)
        assert layout.fit(free).chosen == (sum(1 << at for at in plain) if plain else 0)
