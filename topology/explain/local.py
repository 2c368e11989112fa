"""One node's part of the world, on which claims are tried again and again: as they are, changed, with devices freed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from topology.allocator import Claim, Node, Outcome, Unmodelled, Version, World, allocate
from topology.allocator.errors import SchedulerError
from topology.allocator.objects import Alternatives, Constraint, Device, DeviceId, Request, Taken
from topology.allocator.pools import Pool, gather, relevant
from topology.allocator.prepare import Answers
from topology.allocator.selectors import compiled
from topology.allocator.shared import Shared

PROBE_CALLS = 20_000
"""Calls of the search after which a claim that was changed is taken for one of which nothing is known."""


@dataclass(frozen=True)
class Holding:
    """A device, or a share of one, that an allocated claim has."""

    claim: str
    taken: Taken

    @property
    def device(self) -> DeviceId:
        return self.taken.id


class Local:
    """What node and version say of the world. probes: how many tries are left. freed: places in holdings.

    own: claims whose devices nobody else can free: the pod's other ones.
    """

    def __init__(
        self, world: World, node: Node, version: Version, probes: int, own: Collection[str] = frozenset()
    ) -> None:
        self.node, self.version, self.probes, self.own = node, version, probes, own
        self.classes = world.classes
        mine = {(one.driver, one.pool) for one in world.slices if relevant(one, node, version)}
        self.slices = tuple(one for one in world.slices if (one.driver, one.pool) in mine)
        self.holdings = tuple(
            Holding(claim.key, taken) for claim in world.claims for taken in claim.taken or () if taken.id[:2] in mine
        )
        self.answers: Answers = {}
        self.said: dict[tuple[str, DeviceId], bool | Exception] = {}

    def selected(self, expression: str, driver: str, device: Device, id: DeviceId) -> bool:
        """What a selector says of a device. SchedulerError or Unmodelled where it fails."""
        key = (expression, id)
        if key not in self.said:
            try:
                self.said[key] = compiled(expression).matches(driver, device)
            except (SchedulerError, Unmodelled) as error:
                self.said[key] = error
        answer = self.said[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pools(self) -> list[Pool]:
        return gather(self.slices, self.node, self.version)

    def shared(self, freed: Collection[int] = frozenset()) -> Shared:
        return Shared(self._left(freed), self.version)

    def run(self, claims: Sequence[Claim], limit: int, freed: Collection[int] = frozenset()) -> Outcome:
        """What the scheduler would say. TooLong after so many calls."""
        held = Claim("", "held", (), (), tuple(self._left(freed)))
        world = World(self.slices, self.classes, (held,), (self.node,))
        return allocate(world, self.node, claims, self.version, limit, self.answers)

    def _left(self, freed: Collection[int]) -> list[Taken]:
        return [one.taken for index, one in enumerate(self.holdings) if index not in freed]


def quick(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """The same claims with requests in an order that ends sooner: each beside those that it shares constraints with.

    Whether a search finds anything does not depend on the order; how soon does.
    """
    return tuple(_quick(claim) for claim in claims)


def _quick(claim: Claim) -> Claim:
    if len(claim.requests) < 3 or any(_everything(one) for one in claim.requests):
        return claim
    left = list(claim.requests)
    covered = {
        request.name: frozenset(index for index, one in enumerate(claim.constraints) if touches(one, request))
        for request in left
    }
    size = [sum(index in covers for covers in covered.values()) for index in range(len(claim.constraints))]
    placed: set[int] = set()
    order: list[Request | Alternatives] = []
    while left:
        # The constraint that binds the fewest is the one that tells the most.
        following = min(
            left,
            key=lambda one: (
                min((size[index] for index in covered[one.name] & placed), default=len(claim.requests) + 1),
                -len(covered[one.name] & placed),
            ),
        )
        left.remove(following)
        order.append(following)
        placed |= covered[following.name]
    return replace(claim, requests=tuple(order))


def touches(constraint: Constraint, request: Request | Alternatives) -> bool:
    """Whether it binds the request, or an alternative of it."""
    if isinstance(request, Request):
        return constraint.covers(request.name)
    return any(constraint.covers(request.name, one.name) for one in request.subrequests)


def _everything(request: Request | Alternatives) -> bool:
    return any(one.all for one in alternatives(request))


def alternatives(request: Request | Alternatives) -> tuple[Request, ...]:
    """The ways in which a request can be met."""
    return request.subrequests if isinstance(request, Alternatives) else (request,)
