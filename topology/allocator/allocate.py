"""What the scheduler's allocator would give to some claims on a node, or why nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from topology.allocator.betas import refuse_betas
from topology.allocator.errors import SchedulerError
from topology.allocator.objects import Claim, Node, World
from topology.allocator.pools import gather
from topology.allocator.prepare import Answers, Preparation
from topology.allocator.search import Failed, search
from topology.allocator.shared import Shared
from topology.allocator.versions import NEWEST, Version


@dataclass(frozen=True)
class Given:
    """One device for one request; a subrequest is named request/subrequest."""

    request: str
    driver: str
    pool: str
    device: str


@dataclass(frozen=True)
class Allocated:
    """devices: for each claim, in the order of the claims. calls: of the allocator's inner function, allocateOne."""

    devices: tuple[tuple[Given, ...], ...]
    calls: int


@dataclass(frozen=True)
class Unsatisfiable:
    """Not on this node; others may do."""

    why: str
    calls: int


@dataclass(frozen=True)
class Fatal:
    """The scheduler gives the pod up on every node, whichever of them it was that it looked at."""

    why: str
    calls: int


Outcome = Allocated | Unsatisfiable | Fatal


def allocate(
    world: World,
    node: Node,
    claims: Sequence[Claim],
    version: Version = NEWEST,
    limit: int = sys.maxsize,
    answers: Answers | None = None,
) -> Outcome:
    """Allocate claims together, as for one pod, on a node that offers what world.slices say.

    Claims of the world with `taken` set are in use; the others are not looked at. limit: TooLong after so many calls.
    answers: what selectors said, kept from one call to the next on the same node and slices.
    The scheduler's own limit is time, 10 s a node, and is not modelled: a call of it was measured to take 1.9 to 12
    microseconds, so 10 s are some hundred thousand to a few million calls. Unmodelled for what cannot be told.
    """
    refuse_betas(world.slices, claims, version)
    taken = [one for claim in world.claims for one in claim.taken or ()]
    shared = Shared(taken, version)
    pools = gather(world.slices, node, version)
    try:
        made = Preparation(claims, world.classes, pools, node, shared, version, answers)
    except SchedulerError as error:
        return Fatal(error.why, 0)
    try:
        found = search(made, shared, len(claims), version, limit)
    except Failed as failed:
        return Fatal(failed.error.why, failed.calls)
    if found.given is not None:
        return Allocated(tuple(tuple(Given(name, *spot.id) for name, spot in one) for one in found.given), found.calls)
    invalid = next((pool for pool in pools if pool.invalid), None)
    if invalid is not None:
        return Unsatisfiable(f"resource pool {invalid.id} is invalid: {invalid.invalid}", found.calls)
    several = "claims" if len(claims) > 1 else "claim"
    return Unsatisfiable(f"no devices of node {node.name} satisfy the {several}", found.calls)
