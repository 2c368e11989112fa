"""A claim's words as the search on a declared server: for promises and costs, which no plain allocation shows."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from policy.rules.context import Context
from policy.rules.find import claim_spec
from policy.rules.model import Subject
from topology.allocator.errors import Malformed, SchedulerError, Unmodelled
from topology.allocator.objects import Slice
from topology.allocator.reading import read_claim
from topology.allocator.selectors import compiled
from topology.assumptions import assume
from topology.devices import attributes
from topology.model import Server
from topology.profiles import DriverProfile
from topology.promise import Keeps, Promise
from topology.proof import LARGEST, Proof, breach, key, worst
from topology.search import Ask, Search, UnmodelledError, read_ask
from topology.template import Template

LABEL = "ringfence.dev"
_WHOLE = 6
"""Requests up to which every state of a server is looked at; with more of them that takes too long for a check."""


class Untold(Exception):  # noqa: N818
    """What the search on a server would do cannot be told from the claim's words."""


@dataclass(frozen=True)
class Cost:
    """calls: of the search, at worst; exact, or at least so many. free: the NPUs that are free then."""

    calls: int
    exact: bool
    free: tuple[int, ...]


def servers_for(subject: Subject, context: Context) -> list[Server]:
    """The declared server that the object is labelled for, else all that its requests can be met by."""
    wanted = subject.view.at("metadata", "labels", f"{LABEL}/server").text()
    named = [server for server in context.fleet.servers if server.name == wanted]
    return named or list(context.fleet.servers)


def spec_of(subject: Subject) -> Mapping[str, Any] | None:
    """The claim's spec with the server's defaults written out; None where it is partly unknown or not in shape."""
    devices = claim_spec(subject)
    plain = devices.plain() if devices is not None else None
    if not isinstance(plain, Mapping):
        return None
    try:
        read_claim({"kind": "ResourceClaim", "metadata": {"name": "claim"}, "spec": {"devices": plain}})
    except (Malformed, Unmodelled):
        # Other rules say what is wrong with it.
        return None
    given = {key: copy.deepcopy(value) for key, value in plain.items() if value is not None}
    return {"devices": _defaulted(given)} if given.get("requests") else None


def _defaulted(devices: dict[str, Any]) -> dict[str, Any]:
    names = [request["name"] for request in devices["requests"]]
    devices["requests"] = [_without_nothing(request) for request in devices["requests"]]
    for request in devices["requests"]:
        for one in request.get("firstAvailable") or [request["exactly"]]:
            one.setdefault("allocationMode", "ExactCount")
            if one["allocationMode"] == "ExactCount":
                one.setdefault("count", 1)
    for constraint in devices.get("constraints", []):
        if not constraint.get("requests"):
            constraint["requests"] = names
    return devices


def _without_nothing(request: dict[str, Any]) -> dict[str, Any]:
    """Without fields that are null or empty, which say nothing."""
    made = {key: value for key, value in request.items() if value not in (None, [])}
    if "exactly" in made:
        made["exactly"] = {key: value for key, value in made["exactly"].items() if value not in (None, [])}
    if "firstAvailable" in made:
        made["firstAvailable"] = [
            {key: value for key, value in one.items() if value not in (None, [])} for one in made["firstAvailable"]
        ]
    return made


def twin(subject: Subject, spec: Mapping[str, Any], context: Context) -> tuple[Server, Template, Proof | None] | None:
    """The compiled template of this name, or with just these words, and the proof of it."""
    profile = context.fleet.profile
    if profile is None:
        return None
    text = json.dumps(spec, sort_keys=True)
    named = context.fleet.templates.get(subject.name)
    every = ([named] if named is not None else []) + list(context.fleet.templates.values())
    for server, template in every:
        if json.dumps(template.spec, sort_keys=True) == text:
            return server, template, context.fleet.proofs.get(key(server, template, profile))
    return None


def cost(spec: Mapping[str, Any], server: Server, context: Context) -> Cost:
    """Untold."""
    ask, full = _ask(spec, server, context)
    return _cost(ask, full.ids) if len(full.npus) <= LARGEST else _refuse(server)


def first_breach(
    spec: Mapping[str, Any], promises: Mapping[str, Promise], server: Server, context: Context
) -> tuple[tuple[int, ...], str] | None:
    """Untold."""
    ask, full = _ask(spec, server, context)
    if sum(max(one.count for one in alternatives) for alternatives in ask.requests) > LARGEST:
        return None
    return breach(full, promises, ask)


def _refuse(server: Server) -> Cost:
    raise Untold(f"{server.name} has more than {LARGEST} NPUs")


@lru_cache(maxsize=512)
def _cost(ask: Ask, ids: tuple[int, ...]) -> Cost:
    npus = len(ids)
    if len(ask.requests) <= _WHOLE or npus <= 8:
        calls, state = worst(ask, npus)
        return Cost(calls, True, _names(state, ids))
    search, everything = Search(ask), (1 << npus) - 1
    count = sum(max(one.count for one in alternatives) for alternatives in ask.requests)
    if count > npus:
        raise Untold(f"it never fits on {npus} NPUs")
    # All but one, and all but two that may be partners.
    apart = (0, 1, npus // 2)
    states = {everything & ~(1 << a) & ~(1 << (a + step) % npus) for a in range(npus) for step in apart}
    states |= {everything, (1 << count - 1) - 1}
    calls, state = max((search.run(free).calls, -free) for free in states)
    return Cost(calls, False, _names(-state, ids))


def _names(state: int, ids: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(id for position, id in enumerate(ids) if state >> position & 1)


def _ask(spec: Mapping[str, Any], server: Server, context: Context) -> tuple[Ask, Server]:
    profile = context.fleet.profile
    if profile is None:
        raise Untold("no driver profile is declared")
    slice = next(
        (one for one in context.fleet.world.slices if (one.driver, one.pool) == (profile.driver, server.name)), None
    )
    if slice is None:
        raise Untold(f"no slice of {server.name} is known")
    full = assume(server)
    known = attributes(full, profile)
    wanted = copy.deepcopy(dict(spec))
    masks: dict[str, int] = {}
    for request in wanted["devices"]["requests"]:
        for one in request.get("firstAvailable") or [request["exactly"]]:
            _add_class(one, context)
            for selector in one.get("selectors", []):
                expression = selector["cel"]["expression"]
                masks.setdefault(expression, _mask(expression, slice, profile))
    try:
        return read_ask(wanted, [known[id] for id in full.ids], profile.driver, masks), full
    except UnmodelledError as error:
        raise Untold(f"it rests on {error}") from None


def _add_class(one: dict[str, Any], context: Context) -> None:
    """The class's expressions are so many more selectors."""
    of_class = context.classes.get(one.get("deviceClassName", ""))
    if of_class is None:
        raise Untold(f"DeviceClass {one.get('deviceClassName')} is not known")
    one["selectors"] = [*one.get("selectors", []), *({"cel": {"expression": text}} for text in of_class)]


def _mask(expression: str, slice: Slice, profile: DriverProfile) -> int:
    """The devices that it lets in, as bits in the order of the slice, which is that of the ids."""
    try:
        matching = [compiled(expression).matches(profile.driver, device) for device in slice.devices]
    except (SchedulerError, Unmodelled) as error:
        raise Untold(str(error)) from None
    return sum(1 << position for position, matches in enumerate(matching) if matches)


def promises_of(text: str, spec: Mapping[str, Any]) -> Mapping[str, Promise]:
    """What an annotation ringfence.dev/promise says, by request.

    ValueError for words that are no promise; Untold where the requests say no count.
    """
    tiers = [
        tuple(Keeps(word.strip()) for word in tier.split(",")) if tier.strip() != "any" else ()
        for tier in text.split("→")
    ]
    requests = spec["devices"]["requests"]
    if asks_for_all(spec):
        raise Untold("it rests on allocationMode All")
    if len(tiers) == 1:
        count = sum(max(one["count"] for one in _alternatives(request)) for request in requests)
        return {"": Promise(count, tiers[0])}
    alternatives = requests[0].get("firstAvailable", [])
    if len(requests) != 1 or len(alternatives) != len(tiers):
        raise ValueError(f"{len(tiers)} promises for {len(alternatives)} alternatives")
    return {
        f"{requests[0]['name']}/{one['name']}": Promise(one["count"], keeps)
        for one, keeps in zip(alternatives, tiers, strict=True)
    }


def asks_for_all(spec: Mapping[str, Any]) -> bool:
    """Whether a request takes what there is, and so says no count."""
    return any(
        one.get("allocationMode") == "All" for request in spec["devices"]["requests"] for one in _alternatives(request)
    )


def _alternatives(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return request.get("firstAvailable") or [request["exactly"]]
