"""Before the search: which devices each request could take, and the errors that come before any device is tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from topology.allocator.capacity import consumed
from topology.allocator.constraints import DistinctByRequest, State, state_of, value_of
from topology.allocator.errors import SchedulerError, Unmodelled
from topology.allocator.objects import (
    Alternatives,
    AttributeValue,
    Claim,
    Device,
    DeviceClass,
    DeviceId,
    Node,
    Request,
    Slice,
    Taint,
)
from topology.allocator.pools import Pool, device_matches
from topology.allocator.selectors import compiled
from topology.allocator.shared import Shared
from topology.allocator.versions import Version

MAX_DEVICES = 32
"""Of a claim: resource/v1 AllocationResultsMaxSize."""


@dataclass(frozen=True)
class Spot:
    """A device where the search finds it. number: its place in the search's order."""

    number: int
    id: DeviceId
    device: Device
    slice: Slice
    pool: Pool


@dataclass(frozen=True)
class Special:
    """What the quick path of the search cannot do: an error on reaching the device, counters, shared capacity."""

    error: Exception | None = None
    spot: Spot | None = None
    amounts: Mapping[str, int] | None = None


Values = tuple[AttributeValue | None, ...]
"""A device's values for the constraints that cover a request, in their order. None: it has none."""

Candidate = tuple[int, Values, Special | None]
"""Number of the device, its values, and whatever is special about it."""


@dataclass(eq=False)
class Prepared:
    """A request or subrequest, ready for the search.

    states: the constraints that cover it. candidates: in the search's order. wanted: for the mode `All`, every device
    that it must get.
    next: the step of the program that follows. following: the request under which `All` takes its next device.
    """

    claim: int
    name: str
    request: Request
    base: str
    attributes: tuple[str, ...]
    count: int = 0
    states: tuple[State, ...] = ()
    candidates: list[Candidate] | None = None
    wanted: list[tuple[Spot, Values, Special | None]] = field(default_factory=list)
    next: int = 0
    following: Prepared | None = None


Answers = dict[tuple[str, int], bool | Exception]
"""What selectors said: by expression and number of the device."""

END, CLAIM, REQUEST, ALTERNATIVES = range(4)
Step = tuple[int, tuple[Prepared, ...]]


class Preparation:
    """The steps of the search for some claims on a node. SchedulerError as the scheduler raises it before searching."""

    def __init__(
        self,
        claims: Sequence[Claim],
        classes: Sequence[DeviceClass],
        pools: Sequence[Pool],
        node: Node,
        shared: Shared,
        version: Version,
        answers: Answers | None = None,
    ) -> None:
        self._claims = claims
        self._classes = {one.name: one for one in classes}
        self._pools = pools
        self._node = node
        self._shared = shared
        self._version = version
        self._selected: Answers = {} if answers is None else answers
        self.spots = [
            Spot(number, (slice.driver, slice.pool, device.name), device, slice, pool)
            for number, (pool, slice, device) in enumerate(self._devices())
        ]
        self.steps: list[Step] = []
        for index, claim in enumerate(claims):
            self._claim(index, claim)
        self.steps.append((END, ()))
        if not version.ordered:
            self._refuse_chance()

    def _devices(self) -> Iterator[tuple[Pool, Slice, Device]]:
        for pool in self._pools:
            if pool.invalid:
                continue
            for slice in pool.slices:
                for device in slice.devices:
                    yield pool, slice, device

    def _claim(self, index: int, claim: Claim) -> None:
        states = [(constraint, state_of(constraint, self._version)) for constraint in claim.constraints]
        least = 0
        for request in claim.requests:
            alternatives = request.subrequests if isinstance(request, Alternatives) else (request,)
            made: list[Prepared] = []
            for one in alternatives:
                nested = isinstance(request, Alternatives)
                name = f"{request.name}/{one.name}" if nested else one.name
                covering = [pair for pair in states if pair[0].covers(request.name, one.name if nested else "")]
                attributes = tuple(constraint.attribute for constraint, _ in covering)
                prepared = Prepared(index, name, one, request.name, attributes, next=len(self.steps) + 1)
                prepared.states = tuple(state for _, state in covering)
                self._prepare(prepared, claim, made)
                made.append(prepared)
            for prepared in made:
                # Up to 1.35, `All` goes on with the device list of the first subrequest: the index gets lost.
                prepared.following = made[0] if self._version.all_subrequests_mixed else prepared
            fewest = min(prepared.count for prepared in made)
            if fewest > MAX_DEVICES - least:
                raise SchedulerError(
                    f"claim {claim.key}, request {request.name}: adding {fewest} devices exceeds the claim limit of "
                    f"{MAX_DEVICES}, with {least} already accounted for"
                )
            least += fewest
            self.steps.append((ALTERNATIVES if isinstance(request, Alternatives) else REQUEST, tuple(made)))
        self.steps.append((CLAIM, ()))

    def _prepare(self, made: Prepared, claim: Claim, before: list[Prepared]) -> None:
        request = made.request
        at = f"claim {claim.key}, request {request.name}"
        if request.device_class not in self._classes:
            raise SchedulerError(f"{at}: device class {request.device_class} does not exist")
        if not request.all:
            made.count = request.count
            return
        for pool in self._pools:
            if pool.incomplete:
                raise SchedulerError(f"{at}: asks for all devices, but resource pool {pool.id} is being updated")
            if pool.invalid:
                raise SchedulerError(f"{at}: asks for all devices, but resource pool {pool.id} is invalid")
        # Up to 1.35, the second subrequest finds the answers that were noted for the first.
        mixed = self._version.all_subrequests_mixed and len(before) == 1 and before[0].request.all
        selecting = before[0] if mixed else made
        for spot in self.spots:
            if not self._selectable(selecting, spot, claim):
                continue
            amounts = self._amounts(made, spot, at)
            if self._version.betas:
                if amounts is None:
                    continue
                full = not self._shared.fits(spot.id, amounts, spot.device.capacity)
                impossible = any(amount > spot.device.capacity[name].value for name, amount in amounts.items())
                if impossible or (full and not self._version.all_by_static_capacity):
                    continue
            values = _values(spot, made.attributes)
            made.wanted.append((spot, values, self._special(spot, amounts)))
        made.count = len(made.wanted)

    def candidates(self, made: Prepared) -> list[Candidate]:
        """The devices that a request with a count may try, found when the search first comes to it.

        What would be an error there is one in the list, for the search may end before it gets so far.
        """
        if made.candidates is not None:
            return made.candidates
        claim = self._claims[made.claim]
        found: list[Candidate] = []
        for spot in self._reached():
            if isinstance(spot, Pool):
                error = SchedulerError(f"pool {spot.name} is invalid: {spot.invalid}")
                found.append((-1, (), Special(error=error)))
                continue
            if spot.pool.incomplete and self._version.skips_bad_pools:
                continue
            candidate = self._candidate(made, spot, claim)
            if candidate is not None:
                found.append(candidate)
        made.candidates = found
        return found

    def _reached(self) -> Iterator[Spot | Pool]:
        """Devices, and in 1.34 the pools on which the search breaks off."""
        if self._version.skips_bad_pools:
            yield from self.spots
            return
        for pool in self._pools:
            if pool.invalid:
                yield pool
            yield from (spot for spot in self.spots if spot.pool is pool)

    def _candidate(self, made: Prepared, spot: Spot, claim: Claim) -> Candidate | None:
        try:
            if not self._selectable(made, spot, claim):
                return None
            amounts = self._amounts(made, spot, f"claim {claim.key}, request {made.request.name}")
        except (SchedulerError, Unmodelled) as error:
            return spot.number, (), Special(error=error)
        if self._version.betas:
            if amounts is None or untolerated(made.request, spot.device):
                return None
            if any(amount > spot.device.capacity[name].value for name, amount in amounts.items()):
                return None
        values = _values(spot, made.attributes)
        # No constraint takes a device without its attribute. But up to 1.36, distinctAttribute forgets what it knows
        # of a request when a constraint after it refuses a device, so there the search has to try.
        if None in values and not any(isinstance(state, DistinctByRequest) for state in made.states):
            return None
        return spot.number, values, self._special(spot, amounts)

    def _special(self, spot: Spot, amounts: Mapping[str, int] | None) -> Special | None:
        if self._version.betas and (spot.device.shareable or spot.device.consumes or self._shared.holds(spot.id)):
            return Special(spot=spot, amounts=amounts)
        return None

    def _amounts(self, made: Prepared, spot: Spot, at: str) -> Mapping[str, int] | None:
        if not self._version.betas:
            return None
        try:
            return consumed(made.request.capacity, spot.device.capacity, self._version)
        except SchedulerError as error:
            raise SchedulerError(f"{at}: checking capacity for device {'/'.join(spot.id)}: {error.why}") from error

    def tainted(self, made: Prepared, spot: Spot) -> bool:
        """Whether a taint keeps the request from the device."""
        return self._version.betas and bool(untolerated(made.request, spot.device))

    def _selectable(self, made: Prepared, spot: Spot, claim: Claim) -> bool:
        if spot.device.binding_conditions and not self._version.betas:
            return False
        device_class = self._classes[made.request.device_class]
        for owner, selectors in (
            (f"class {device_class.name}", device_class.selectors),
            (f"claim {claim.key}", made.request.selectors),
        ):
            for number, expression in enumerate(selectors):
                try:
                    matches = self._matches(expression, spot)
                except SchedulerError as error:
                    raise SchedulerError(
                        f"{owner}: selector #{number} on device {'/'.join(spot.id)}: CEL runtime error: {error.why}"
                    ) from error
                if not matches:
                    return False
        return not spot.slice.per_device or device_matches(self._node, spot.device)

    def _matches(self, expression: str, spot: Spot) -> bool:
        key = (expression, spot.number)
        if key not in self._selected:
            try:
                self._selected[key] = compiled(expression).matches(spot.slice.driver, spot.device)
            except (SchedulerError, Unmodelled) as error:
                self._selected[key] = error
        answer = self._selected[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _refuse_chance(self) -> None:
        """Before 1.36 pools and slices come in no order: refuse wherever that could matter."""
        if len(self._pools) > 1 and any(pool.invalid for pool in self._pools) and not self._version.skips_bad_pools:
            raise Unmodelled(f"several pools, one of them invalid, on {self._version.name}: it takes them by chance")
        several = len({(spot.pool.id, spot.slice.name) for spot in self.spots}) > 1
        for _, alternatives in self.steps:
            for made in alternatives:
                spots = [spot for spot, _, _ in made.wanted]
                candidates = [] if made.request.all else self.candidates(made)
                spots += [self.spots[number] for number, _, _ in candidates if number >= 0]
                failing = any(special is not None and special.error is not None for _, _, special in candidates)
                places = {(spot.pool.id, spot.slice.name) for spot in spots}
                if len(places) > 1 or (several and failing):
                    raise Unmodelled(
                        f"request {made.name}, which {len(places)} slices could serve, on {self._version.name}: "
                        "it takes them in an order of chance"
                    )


def _values(spot: Spot, attributes: tuple[str, ...]) -> Values:
    return tuple(value_of(spot.slice.driver, spot.device, attribute) for attribute in attributes)


def untolerated(request: Request, device: Device) -> tuple[Taint, ...]:
    """The taints that keep the request from the device."""
    return tuple(
        taint
        for taint in device.taints
        if taint.effect in ("NoExecute", "NoSchedule") and not _tolerated(request, taint)
    )


def _tolerated(request: Request, taint: Taint) -> bool:
    return any(
        one.effect in ("", taint.effect)
        and one.key in ("", taint.key)
        and (one.operator == "Exists" or (one.operator in ("", "Equal") and one.value == taint.value))
        for one in request.tolerations
    )
