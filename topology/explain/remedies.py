"""What would make a claim fit on a node, each tried with the replica before it is said."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topology.allocator import Claim, TooLong, Unmodelled
from topology.allocator.constraints import value_of
from topology.allocator.objects import Alternatives, Constraint, Request, Toleration
from topology.explain.candidates import GIVEN_BACK, Choices, Place, Why
from topology.explain.conflicts import Conflict
from topology.explain.fewest import Vector, fewest
from topology.explain.local import PROBE_CALLS, Holding, Local, alternatives, quick
from topology.explain.situation import Offered
from topology.explain.trying import fits

PROBES = 600
"""Tries for the remedies of one node; past them, what was found is said to be what it is: perhaps not the smallest."""


@dataclass(frozen=True)
class Free:
    """Devices to be freed. exact: fewer do not suffice; else fewer may."""

    holdings: tuple[Holding, ...]
    exact: bool


@dataclass(frozen=True)
class Count:
    """The largest count that fits."""

    claim: str
    request: str
    count: int


@dataclass(frozen=True)
class Drop:
    """A constraint or selector without which it would fit, or a taint to be tolerated.

    kind: "constraint", "selector" or "taint". requests: those it is about. what: in the words of the claim.
    """

    kind: str
    claim: str
    requests: tuple[str, ...]
    what: str


@dataclass(frozen=True)
class Other:
    """Another template that would fit now. count: the devices that it asks for, None where that depends."""

    template: str
    count: int | None
    promise: str


@dataclass(frozen=True)
class Reorder:
    """The same requests in an order in which the search ends after so many calls."""

    requests: tuple[str, ...]
    calls: int


@dataclass(frozen=True)
class Remedies:
    """free: None where no freeing helps. hopeless: not even an idle node would do."""

    free: Free | None = None
    hopeless: bool = False
    count: Count | None = None
    drop: tuple[Drop, ...] = ()
    templates: tuple[Other, ...] = ()
    reorder: Reorder | None = None


def remedies(
    local: Local,
    claims: Sequence[Claim],
    chosen: Sequence[Choices],
    where: Sequence[Place],
    why: Conflict,
    offered: Sequence[Offered],
) -> Remedies:
    """For claims that do not fit. offered: the templates that may be proposed in place of the one claim."""
    local.probes = PROBES
    count = _count(local, claims, why)
    drop = tuple(_drops(local, claims, chosen, why))
    templates = tuple(_templates(local, claims, offered))
    free, hopeless = _free(local, claims, chosen, where)
    return Remedies(free, hopeless, count, drop, templates)


def reorder(local: Local, claims: Sequence[Claim], calls: int) -> Reorder | None:
    """For a search that is costly: an order in which it costs a tenth, if there is one."""
    made = quick(claims)
    if made == tuple(claims):
        return None
    try:
        outcome = local.run(made, PROBE_CALLS)
    except (TooLong, Unmodelled):
        return None
    if outcome.calls * 10 > calls:
        return None
    return Reorder(tuple(request.name for claim in made for request in claim.requests), outcome.calls)


def _free(
    local: Local, claims: Sequence[Claim], chosen: Sequence[Choices], where: Sequence[Place]
) -> tuple[Free | None, bool]:
    classes = _classes(local, claims, chosen, where)

    def freed(vector: Vector) -> frozenset[int]:
        return frozenset(index for members, n in zip(classes, vector, strict=True) for index in members[:n])

    vector, exact = fewest([len(one) for one in classes], lambda one: fits(local, claims, freed(one)))
    # Up to 1.36, whom distinctAttribute lets pass depends on the order: one device is not as good as another.
    distinct = any(one.distinct for claim in claims for one in claim.constraints)
    exact = exact and not (distinct and local.version.distinct_by_request)
    if vector is None:
        return None, exact
    return Free(tuple(local.holdings[index] for index in sorted(freed(vector))), exact), False


def _classes(
    local: Local, claims: Sequence[Claim], chosen: Sequence[Choices], where: Sequence[Place]
) -> list[list[int]]:
    """Places in holdings, those together of which it does not matter which is freed; others decide nothing."""
    wanted = {one.device for asked in chosen for one in asked.refused if one.why in GIVEN_BACK}
    # What holds any device of a pool may use up the counters of another.
    counted = any(place.device.consumes for place in where)
    attributes = sorted({one.attribute for claim in claims for one in claim.constraints})
    by_id = {place.id: place for place in where}
    times = [holding.device for holding in local.holdings]
    found: dict[Any, list[int]] = {}
    for index, holding in enumerate(local.holdings):
        id = holding.device
        if holding.claim in local.own or (id not in wanted and not counted):
            continue
        place = by_id.get(id)
        key: Any = index
        if place is not None and not (place.device.shareable or place.device.consumes) and times.count(id) == 1:
            reasons = tuple(
                next(((one.why, one.detail) for one in asked.refused if one.device == id), None) for asked in chosen
            )
            key = (reasons, tuple(value_of(id[0], place.device, attribute) for attribute in attributes))
        found.setdefault(key, []).append(index)
    # Those of one claim first: fewer claims then have to end.
    return [sorted(one, key=lambda index: (local.holdings[index].claim, index)) for one in found.values()]


def _count(local: Local, claims: Sequence[Claim], why: Conflict) -> Count | None:
    """Only where one request is the cause: of several, which should ask for less is not for us to say."""
    for claim in claims if len(why.requests) == 1 else ():
        for request in claim.requests:
            if not isinstance(request, Request) or request.all or request.count < 2:
                continue
            if (claim.key, request.name) not in why.requests:
                continue
            low, high = 0, request.count - 1
            while low < high:
                middle = (low + high + 1) // 2
                if fits(local, _changed(claims, claim, request, replace(request, count=middle))):
                    low = middle
                else:
                    high = middle - 1
            if low:
                return Count(claim.key, request.name, low)
    return None


def _drops(local: Local, claims: Sequence[Claim], chosen: Sequence[Choices], why: Conflict) -> Iterable[Drop]:
    for claim in claims:
        for constraint in claim.constraints:
            if not any(key == claim.key and one is constraint for key, one in _constraints(why)):
                continue
            rest = tuple(one for one in claim.constraints if one is not constraint)
            if fits(local, [replace(one, constraints=rest) if one is claim else one for one in claims]):
                yield Drop("constraint", claim.key, tuple(sorted(constraint.requests)), words_of(constraint))
        for request in claim.requests:
            if (claim.key, request.name) not in why.requests:
                continue
            for one in alternatives(request):
                yield from _of_request(local, claims, claim, request, one, chosen)


def _of_request(
    local: Local,
    claims: Sequence[Claim],
    claim: Claim,
    request: Request | Alternatives,
    one: Request,
    chosen: Sequence[Choices],
) -> Iterable[Drop]:
    for asked in chosen:
        if asked.claim != claim.key or asked.request is not one:
            continue
        for expression in dict.fromkeys(one.selectors):
            rest = tuple(known for known in one.selectors if known != expression)
            if fits(local, _changed(claims, claim, request, replace(one, selectors=rest), one)):
                yield Drop("selector", claim.key, (asked.name,), expression)
        taints = sorted({refused.detail for refused in asked.refused if refused.why is Why.TAINT})
        if taints:
            tolerating = replace(one, tolerations=(Toleration("", "Exists", "", ""),))
            if fits(local, _changed(claims, claim, request, tolerating, one)):
                yield Drop("taint", claim.key, (asked.name,), ", ".join(taints))


def _constraints(why: Conflict) -> Iterable[tuple[str, Constraint]]:
    yield from why.constraints
    for _, inner in why.alternatives:
        yield from _constraints(inner)


def _changed(
    claims: Sequence[Claim],
    claim: Claim,
    request: Request | Alternatives,
    changed: Request,
    old: Request | None = None,
) -> list[Claim]:
    """The claims with a request, or one of its alternatives, changed."""
    whole: Request | Alternatives = changed
    if isinstance(request, Alternatives):
        whole = Alternatives(request.name, tuple(changed if one is old else one for one in request.subrequests))
    requests = tuple(whole if one is request else one for one in claim.requests)
    return [replace(one, requests=requests) if one is claim else one for one in claims]


def _templates(local: Local, claims: Sequence[Claim], offered: Collection[Offered]) -> Iterable[Other]:
    """Those for as many that fit; else those for the next smaller count of which one does."""
    found: int | None = None
    for one in offered if len(claims) == 1 else ():
        count = asked_for(one.claim)
        if found not in (None, count):
            return
        if fits(local, [one.claim]):
            found = count
            yield Other(one.name, count, one.promise)


def asked_for(claim: Claim) -> int | None:
    """The devices that a claim asks for; None where it depends: alternatives, all."""
    counts: list[int] = []
    for request in claim.requests:
        different = {None if one.all else one.count for one in alternatives(request)}
        only = different.pop()
        if different or only is None:
            return None
        counts.append(only)
    return sum(counts)


def words_of(constraint: Constraint) -> str:
    """As the claim spells it."""
    return f"{'distinctAttribute' if constraint.distinct else 'matchAttribute'}: {constraint.attribute}"
