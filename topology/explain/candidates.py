"""Which devices of a node each request could take, and for each of the others the first thing that keeps it away.

What never changes comes before what others may give back, so that a device is "held" only if it would do otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from topology.allocator import Claim, Unmodelled
from topology.allocator.capacity import consumed
from topology.allocator.constraints import value_of
from topology.allocator.errors import SchedulerError
from topology.allocator.objects import Alternatives, AttributeValue, Device, DeviceId, Request, Slice
from topology.allocator.pools import Pool, device_matches, relevant
from topology.allocator.prepare import untolerated
from topology.allocator.shared import Shared
from topology.explain.local import Local, alternatives


class Why(StrEnum):
    """What keeps a device from a request; the value is its name in JSON."""

    POOL = "incomplete-pool"
    INVALID = "invalid-pool"
    ELSEWHERE = "other-node"
    CLASS = "class-selector"
    REQUEST = "request-selector"
    ERROR = "selector-error"
    UNMODELLED = "unmodelled"
    BINDING = "binding-conditions"
    CAPACITY = "capacity"
    TAINT = "taint"
    LACKS = "attribute-missing"
    HELD = "held"
    USED_UP = "capacity-used-up"
    COUNTERS = "counters-used-up"


GIVEN_BACK = frozenset({Why.HELD, Why.USED_UP, Why.COUNTERS})
"""What changes when other claims end."""


@dataclass(frozen=True)
class Refused:
    """detail: the expression, taint, attribute or pool that it is about. error: what evaluating it said."""

    device: DeviceId
    why: Why
    detail: str = ""
    error: str = ""


@dataclass(frozen=True)
class Choices:
    """What a request (name, or name/subrequest) of a claim has to choose from, in the scheduler's order."""

    claim: str
    base: str
    name: str
    request: Request
    free: tuple[DeviceId, ...]
    refused: tuple[Refused, ...]

    @property
    def could(self) -> tuple[DeviceId, ...]:
        """Free, or held by others."""
        return (*self.free, *(one.device for one in self.refused if one.why in GIVEN_BACK))

    @property
    def enough(self) -> bool:
        """Whether it alone, without constraints, would have what it asks for. A device may be shared out in parts."""
        if self.request.all:
            return bool(self.free) and not any(self.in_the_way)
        return len(self.free) >= self.request.count

    @property
    def in_the_way(self) -> Iterator[Refused]:
        """For the mode `All`: what is selected and not to be had."""
        return (one for one in self.refused if one.why in GIVEN_BACK | {Why.TAINT, Why.LACKS, Why.ERROR, Why.POOL})


@dataclass(frozen=True)
class Place:
    """A device of the node where it lies."""

    id: DeviceId
    device: Device
    slice: Slice
    pool: Pool


def places(local: Local) -> list[Place]:
    """The devices that the node sees, those of its incomplete and invalid pools too."""
    found = []
    for pool in local.pools():
        bad = pool.incomplete or bool(pool.invalid)
        slices = pool.slices or [one for one in local.slices if bad and _of_pool(local, one, pool)]
        found += [
            Place((one.driver, one.pool, device.name), device, one, pool) for one in slices for device in one.devices
        ]
    return found


def _of_pool(local: Local, slice: Slice, pool: Pool) -> bool:
    return (slice.driver, slice.pool) == (pool.driver, pool.name) and relevant(slice, local.node, local.version)


def choices(
    local: Local, claims: Sequence[Claim], where: Sequence[Place], freed: Collection[int] = frozenset()
) -> tuple[Choices, ...]:
    """For every request and alternative whose class is there. freed: places in the holdings."""
    shared = local.shared(freed)
    found = []
    for claim in claims:
        for request in claim.requests:
            for one in alternatives(request):
                if any(known.name == one.device_class for known in local.classes):
                    nested = isinstance(request, Alternatives)
                    found.append(_of(local, claim, request.name, one, nested, where, shared))
    return tuple(found)


def _of(
    local: Local, claim: Claim, base: str, request: Request, nested: bool, where: Sequence[Place], shared: Shared
) -> Choices:
    attributes = [one.attribute for one in claim.constraints if one.covers(base, request.name if nested else "")]
    free, refused = [], []
    for place in where:
        reason = _refusal(local, request, attributes, place, shared)
        if reason is None:
            free.append(place.id)
        else:
            refused.append(reason)
    name = f"{base}/{request.name}" if nested else base
    return Choices(claim.key, base, name, request, tuple(free), tuple(refused))


def _refusal(local: Local, request: Request, attributes: Sequence[str], place: Place, shared: Shared) -> Refused | None:
    id, device, betas = place.id, place.device, local.version.betas
    if place.pool.invalid:
        return Refused(id, Why.INVALID, place.pool.id, place.pool.invalid)
    if place.pool.incomplete and local.version.skips_bad_pools:
        return Refused(id, Why.POOL, place.pool.id)
    if device.binding_conditions and not betas:
        return Refused(id, Why.BINDING)
    unselected = _unselected(local, request, place)
    if unselected is not None:
        return unselected
    if place.slice.per_device and not device_matches(local.node, device):
        return Refused(id, Why.ELSEWHERE)
    amounts = None
    if betas:
        try:
            amounts = consumed(request.capacity, device.capacity, local.version)
        except (SchedulerError, Unmodelled) as error:
            return Refused(id, Why.ERROR, "capacity", str(error))
        if amounts is None or any(amount > device.capacity[name].value for name, amount in amounts.items()):
            return Refused(id, Why.CAPACITY)
        taints = untolerated(request, device)
        if taints:
            return Refused(id, Why.TAINT, str_of(taints[0]))
    for attribute in attributes:
        if value_of(place.slice.driver, device, attribute) is None:
            return Refused(id, Why.LACKS, attribute)
    if id in shared.whole and not request.admin:
        return Refused(id, Why.HELD)
    if betas and amounts is not None:
        if not shared.fits(id, amounts, device.capacity):
            return Refused(id, Why.USED_UP)
        if shared.must_count(id, device):
            if not shared.reserve(place.pool, device):
                return Refused(id, Why.COUNTERS, place.pool.id)
            shared.release(place.pool, device)
    return None


def _unselected(local: Local, request: Request, place: Place) -> Refused | None:
    device_class = next(one for one in local.classes if one.name == request.device_class)
    for why, selectors in ((Why.CLASS, device_class.selectors), (Why.REQUEST, request.selectors)):
        for expression in selectors:
            try:
                matches = local.selected(expression, place.slice.driver, place.device, place.id)
            except SchedulerError as error:
                return Refused(place.id, Why.ERROR, expression, error.why)
            except Unmodelled as error:
                return Refused(place.id, Why.UNMODELLED, expression, error.feature)
            if not matches:
                return Refused(place.id, why, expression)
    return None


def values(where: Sequence[Place], attribute: str) -> dict[DeviceId, AttributeValue]:
    """The devices that have the attribute, as constraints see it."""
    found = {place.id: value_of(place.slice.driver, place.device, attribute) for place in where}
    return {id: value for id, value in found.items() if value is not None}


def str_of(taint: object) -> str:
    """key=value:effect, as kubectl writes it."""
    key, value, effect = (getattr(taint, name) for name in ("key", "value", "effect"))
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"
