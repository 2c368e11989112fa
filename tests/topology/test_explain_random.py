"""On random worlds the explanation never contradicts the replica, and what it advises suffices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.topology.random_claims import API, Case, make
from topology.allocator import (
    VERSIONS,
    Allocated,
    Claim,
    Fatal,
    Malformed,
    Outcome,
    TooLong,
    Unmodelled,
    World,
    allocate,
    read_world,
)
from topology.allocator.objects import Alternatives, Request
from topology.allocator.pools import gather
from topology.allocator.prepare import Preparation
from topology.allocator.shared import Shared
from topology.explain import Explanation, Verdict, explain, lines, read_situation, subject
from topology.explain.candidates import GIVEN_BACK, Why, choices, places
from topology.explain.local import Local
from topology.explain.remedies import Count

LIMIT = 4_000
SEEDS = st.integers(0, 10**6)
MODERN = st.sampled_from(("1.36", "1.37", "1.37"))
MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def crowded(seed: int, version: str) -> Case:
    """The case of the seed with about half of what nobody holds held, each device by a claim of its own."""
    case = make(seed, version)
    random = Random(f"{version}/{seed}/held")
    known = {
        (one["driver"], one["pool"], one["device"])
        for claim in case.taken
        for one in claim["status"]["allocation"]["devices"]["results"]
    }
    for slice_ in case.slices:
        for device in slice_["spec"].get("devices", ()):
            id = (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device["name"])
            if id in known or device.get("allowMultipleAllocations") or random.random() < 0.5:
                continue
            known.add(id)
            result = dict(zip(("driver", "pool", "device"), id, strict=True), request="r")
            claim = {"kind": "ResourceClaim", "apiVersion": API, "spec": {"devices": {"requests": []}}}
            claim["metadata"] = {"name": f"held-{len(known)}", "namespace": "default"}
            claim["status"] = {"allocation": {"devices": {"results": [result]}}}
            case.taken.append(claim)
    return case


def pod(case: Case) -> dict[str, object]:
    entries = [{"name": one["metadata"]["name"], "resourceClaimName": one["metadata"]["name"]} for one in case.claims]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"resourceClaims": entries},
    }


def world_of(case: Case) -> tuple[World, list[Claim]]:
    """TooLong, Malformed and Unmodelled are no cases here."""
    try:
        world = read_world([*case.slices, *case.classes, *case.taken, *case.claims, case.node])
    except (Malformed, Unmodelled):
        assume(False)
        raise
    return world, [claim for claim in world.claims if claim.taken is None]


def told(case: Case) -> Explanation:
    situation = read_situation([*case.slices, *case.classes, *case.taken, *case.claims, case.node, pod(case)])
    return explain(situation, subject(situation, "pod/p"), VERSIONS[case.version], limit=LIMIT)


def outcome_of(world: World, claims: Sequence[Claim], version: str) -> Outcome:
    try:
        return allocate(world, world.nodes[0], claims, VERSIONS[version], LIMIT)
    except (TooLong, Unmodelled):
        assume(False)
        raise


def without(world: World, gone: list[tuple[str, tuple[str, str, str]]]) -> World:
    claims = []
    for claim in world.claims:
        taken = list(claim.taken or ())
        for one in list(taken):
            if (claim.key, one.id) in gone:
                gone.remove((claim.key, one.id))
                taken.remove(one)
        claims.append(replace(claim, taken=tuple(taken)) if claim.taken is not None else claim)
    return replace(world, claims=tuple(claims))


@MANY
@given(SEEDS, st.sampled_from(("1.34", "1.35", "1.36", "1.37")))
def test_the_verdict_is_that_of_the_replica(seed: int, version: str) -> None:
    case = crowded(seed, version)
    world, claims = world_of(case)
    outcome = outcome_of(world, claims, version)
    found = told(case)
    assert list(lines(found)), "there are words for everything"
    assert found.plain()["verdict"] == found.verdict.value
    kinds = {Allocated: Verdict.FITS, Fatal: Verdict.FAILS}
    assert found.verdict is kinds.get(type(outcome), Verdict.DOES_NOT_FIT)
    (one,) = found.nodes
    assert isinstance(outcome, Fatal) or one.calls == (outcome.calls,)
    if isinstance(outcome, Allocated):
        assert [given for _, given in one.given] == [given for devices in outcome.devices for given in devices]


@MANY
@given(SEEDS, MODERN)
@example(50_283, "1.37")
@example(50_598, "1.36")
def test_what_is_advised_suffices(seed: int, version: str) -> None:
    case = crowded(seed, version)
    world, claims = world_of(case)
    assume(not isinstance(outcome_of(world, claims, version), Allocated | Fatal))
    (one,) = told(case).nodes
    remedies = one.remedies
    if remedies.free is not None:
        gone = [(holding.claim, holding.device) for holding in remedies.free.holdings]
        after = outcome_of(without(world, gone), claims, version)
        assert isinstance(after, Allocated), f"freeing what is named does not do: {remedies.free}"
    if remedies.hopeless:
        idle = replace(world, claims=tuple(claims))
        assert not isinstance(outcome_of(idle, claims, version), Allocated), "with nothing held it would fit"
    if remedies.count is not None:
        fewer = [_with_count(claim, remedies.count) for claim in claims]
        assert isinstance(outcome_of(world, fewer, version), Allocated)


def _with_count(claim: Claim, count: Count) -> Claim:
    requests = tuple(
        replace(known, count=count.count) if isinstance(known, Request) and known.name == count.request else known
        for known in claim.requests
    )
    return replace(claim, requests=requests) if claim.key == count.claim else claim


@MANY
@given(SEEDS, MODERN)
def test_what_is_in_the_way_does_not_fit_by_itself(seed: int, version: str) -> None:
    case = crowded(seed, version)
    world, claims = world_of(case)
    assume(not isinstance(outcome_of(world, claims, version), Allocated | Fatal))
    (one,) = told(case).nodes
    conflict = one.conflict
    assert conflict is not None
    blamed = [
        replace(
            claim,
            requests=tuple(known for known in claim.requests if (claim.key, known.name) in conflict.requests),
            constraints=tuple(known for known in claim.constraints if (claim.key, known) in conflict.constraints),
        )
        for claim in claims
    ]
    assert conflict.requests
    assert not isinstance(outcome_of(world, blamed, version), Allocated), "the blame is not all of the cause"


@MANY
@given(SEEDS, MODERN)
@example(70_280, "1.36")
def test_the_fewest_are_the_fewest(seed: int, version: str) -> None:
    from itertools import combinations

    case = crowded(seed, version)
    world, claims = world_of(case)
    assume(not isinstance(outcome_of(world, claims, version), Allocated | Fatal))
    free = told(case).nodes[0].remedies.free
    assume(free is not None)
    assert free is not None
    assume(free.exact)
    holdings = [(claim.key, taken.id) for claim in world.claims for taken in claim.taken or ()]
    assume(len(holdings) <= 10)
    for some in combinations(holdings, len(free.holdings) - 1):
        assert not isinstance(outcome_of(without(world, list(some)), claims, version), Allocated), f"{some} would do"


@MANY
@given(SEEDS, MODERN)
def test_the_devices_a_request_could_take_are_those_the_replica_tries(seed: int, version: str) -> None:
    case = crowded(seed, version)
    world, claims = world_of(case)
    node, kind = world.nodes[0], VERSIONS[version]
    assume(not isinstance(outcome_of(world, claims, version), Fatal))
    local = Local(world, node, kind, 0)
    found = {(one.claim, one.name): one for one in choices(local, claims, places(local))}
    taken = [one for claim in world.claims for one in claim.taken or ()]
    made = Preparation(claims, world.classes, gather(world.slices, node, kind), node, Shared(taken, kind), kind)
    for _, alternatives in made.steps:
        for prepared in alternatives:
            if prepared.request.all:
                continue
            mine = found[claims[prepared.claim].key, prepared.name]
            tried = {
                made.spots[number].id
                for number, values, special in made.candidates(prepared)
                if (special is None or special.error is None) and None not in values
            }
            assert tried == set(mine.could), f"request {prepared.name}"
            failing = {made.spots[n].id for n, _, special in made.candidates(prepared) if special and special.error}
            assert failing == {one.device for one in mine.refused if one.why in (Why.ERROR, Why.UNMODELLED)}
            assert not {one.device for one in mine.refused if one.why in GIVEN_BACK} & set(mine.free)


def test_a_random_world_has_alternatives_and_conflicts() -> None:
    """The properties above are about something: many of the worlds come to remedies and to alternatives."""
    seen = {"free": 0, "constraints": 0, "alternatives": 0}
    for seed in range(300):
        case = crowded(seed, "1.37")
        try:
            found = told(case)
        except (Unmodelled, Malformed):
            continue
        for one in found.nodes:
            seen["free"] += one.remedies.free is not None
            if one.conflict is not None:
                seen["constraints"] += bool(one.conflict.constraints)
                seen["alternatives"] += any(
                    isinstance(request, Alternatives) for claim in found.subject.pending for request in claim.requests
                )
    assert min(seen.values()) > 10, seen
