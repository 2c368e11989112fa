"""Why a claim does not fit on a node: the requests and constraints that cannot be met together, none of them too many.

Found by leaving out one after another as long as the rest still does not fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from topology.allocator import Claim
from topology.allocator.objects import Alternatives, AttributeValue, Constraint, DeviceId, Request
from topology.explain.candidates import Choices, Place, values
from topology.explain.local import Local, alternatives, touches
from topology.explain.trying import fits, free_for


@dataclass(frozen=True)
class Tally:
    """What a constraint, or several over the same requests, ask of the free devices.

    asked: devices, of one value or of different ones (distinct), so many times over (times: constraints that differ
    only in their requests). rows: values → how many free devices have them, and how many more are held by others.
    """

    attributes: tuple[str, ...]
    requests: tuple[str, ...]
    distinct: bool
    asked: int
    times: int
    rows: tuple[tuple[tuple[int | str | bool, ...], int, int], ...]


@dataclass(frozen=True)
class Shortage:
    """Requests that have too few devices, without any constraint. needs: None for the mode `All`."""

    requests: tuple[str, ...]
    needs: int | None
    free: int
    could: int


@dataclass(frozen=True)
class Conflict:
    """requests and constraints (claim, as written) that do not fit together; of a subset of them nothing is lacking.

    exact: the last is known of each; else some could not be told. alternatives: for a request with firstAvailable among
    them, alternative → why it is none.
    """

    requests: tuple[tuple[str, str], ...]
    constraints: tuple[tuple[str, Constraint], ...]
    exact: bool
    shortages: tuple[Shortage, ...] = ()
    tallies: tuple[Tally, ...] = ()
    alternatives: tuple[tuple[str, Conflict], ...] = ()


def conflict(
    local: Local, claims: Sequence[Claim], chosen: Sequence[Choices], where: Sequence[Place], deep: bool = True
) -> Conflict:
    """For claims that do not fit. deep: of alternatives, say of each why it is none."""
    claims, exact = _fewest(local, claims, chosen)
    alternatives_ = [
        (f"{request.name}/{one.name}", conflict(local, _only(claims, claim, request, one), chosen, where, False))
        for claim in claims
        for request in claim.requests
        if deep and isinstance(request, Alternatives) and len(request.subrequests) > 1
        for one in request.subrequests
    ]
    told = [one for one in chosen if _in(one, claims)]
    return Conflict(
        requests=tuple((claim.key, request.name) for claim in claims for request in claim.requests),
        constraints=tuple((claim.key, one) for claim in claims for one in claim.constraints),
        exact=exact,
        shortages=() if alternatives_ or any(claim.constraints for claim in claims) else _shortages(told, claims),
        tallies=() if alternatives_ else tuple(_tallies(claims, told, where)),
        alternatives=tuple(alternatives_),
    )


def _shortages(told: Sequence[Choices], claims: Sequence[Claim]) -> tuple[Shortage, ...]:
    alone = [one for one in told if not one.enough]
    if alone or len(told) < 2 or any(one.request.all for one in told):
        return tuple(
            Shortage(
                (label(one, claims),), None if one.request.all else one.request.count, len(one.free), len(one.could)
            )
            for one in alone
        )
    needs, could = sum(one.request.count for one in told), {id for one in told for id in one.could}
    return (Shortage(tuple(label(one, claims) for one in told), needs, len(free_for(told)), len(could)),)


def label(one: Choices, claims: Sequence[Claim]) -> str:
    """The request, with its claim where there are several."""
    return f"{one.name} of {one.claim}" if len(claims) > 1 else one.name


def _fewest(local: Local, claims: Sequence[Claim], chosen: Sequence[Choices]) -> tuple[tuple[Claim, ...], bool]:
    """The claims with nothing left in them that could be left out."""
    for claim in claims:
        for request in claim.requests:
            ways = [one for one in chosen if one.claim == claim.key and one.base == request.name and _in(one, claims)]
            if not isinstance(request, Alternatives) and ways and not any(one.enough for one in ways):
                alone = replace(claim, requests=(request,), constraints=())
                if fits(local, [alone]) is False:
                    return (alone,), True
    exact = True
    left = tuple(claims)
    # From the back: what is written first is what is named first.
    for claim in reversed(claims):
        for number in reversed(range(len(claim.constraints))):
            left, known = _without(local, left, claim.key, constraint=claim.constraints[number])
            exact &= known
    for claim in reversed(claims):
        for request in reversed(claim.requests):
            left, known = _without(local, left, claim.key, request=request)
            exact &= known
    return _tidied(left), exact


def _without(
    local: Local,
    claims: tuple[Claim, ...],
    key: str,
    constraint: Constraint | None = None,
    request: Request | Alternatives | None = None,
) -> tuple[tuple[Claim, ...], bool]:
    """The claims without it if they still do not fit, else as they were; and whether that could be told."""
    fewer = []
    for claim in claims:
        if claim.key == key:
            constraints = list(claim.constraints)
            if constraint is not None:
                constraints.pop(next(i for i, one in enumerate(constraints) if one is constraint))
            requests = tuple(one for one in claim.requests if one is not request)
            fewer.append(replace(claim, constraints=tuple(constraints), requests=requests))
        else:
            fewer.append(claim)
    answer = fits(local, fewer)
    return (tuple(fewer), True) if answer is False else (claims, answer is not None)


def _tidied(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Without claims that ask for nothing, and constraints that bind none of what is asked for."""
    return tuple(
        replace(
            claim,
            constraints=tuple(one for one in claim.constraints if any(touches(one, r) for r in claim.requests)),
        )
        for claim in claims
        if claim.requests
    )


def _only(claims: Sequence[Claim], its: Claim, request: Alternatives, alternative: Request) -> tuple[Claim, ...]:
    """The claims with but one alternative of a request."""
    one = Alternatives(request.name, (alternative,))
    requests = tuple(one if known is request else known for known in its.requests)
    return tuple(replace(claim, requests=requests) if claim is its else claim for claim in claims)


def _in(one: Choices, claims: Iterable[Claim]) -> bool:
    return any(
        claim.key == one.claim and request.name == one.base and any(way is one.request for way in alternatives(request))
        for claim in claims
        for request in claim.requests
    )


def _tallies(claims: Sequence[Claim], told: Sequence[Choices], where: Sequence[Place]) -> Iterable[Tally]:
    found: list[Tally] = []
    for claim in claims:
        mine = [one for one in told if one.claim == claim.key]
        by_cover: dict[tuple[tuple[str, ...], bool], list[str]] = {}
        for constraint in claim.constraints:
            covered = tuple(one.name for one in mine if constraint.covers(one.base, one.name.partition("/")[2]))
            by_cover.setdefault((covered, constraint.distinct), []).append(constraint.attribute)
        for (covered, distinct), attributes in by_cover.items():
            over = [one for one in mine if one.name in covered]
            if over:
                found.append(_tally(tuple(attributes), distinct, over, where, claims))
    merged: dict[tuple[object, ...], Tally] = {}
    for one in found:
        same = (one.attributes, one.distinct, one.asked, one.rows)
        known = merged.get(same)
        merged[same] = (
            one if known is None else replace(known, times=known.times + 1, requests=(*known.requests, *one.requests))
        )
    return merged.values()


def _tally(
    attributes: tuple[str, ...],
    distinct: bool,
    over: Sequence[Choices],
    where: Sequence[Place],
    claims: Sequence[Claim],
) -> Tally:
    known = [values(where, attribute) for attribute in attributes]
    free = {id for one in over for id in one.free}
    held = {id for one in over for id in one.could} - free

    def count(ids: Iterable[DeviceId]) -> Counter[tuple[AttributeValue, ...]]:
        return Counter(tuple(named[id] for named in known) for id in ids if all(id in named for named in known))

    free_by, held_by = count(free), count(held)
    rows = sorted({*free_by, *held_by}, key=lambda row: [(kind, str(value).zfill(8)) for kind, value in row])
    return Tally(
        attributes=attributes,
        requests=tuple(label(one, claims) for one in over),
        distinct=distinct,
        asked=sum(one.request.count for one in over),
        times=1,
        rows=tuple((tuple(value for _, value in row), free_by[row], held_by[row]) for row in rows),
    )
