"""Fields whose feature gates are off by default in 1.34 and 1.35: objects do not say whether a cluster has them on."""

from __future__ import annotations

from collections.abc import Iterable

from topology.allocator.errors import Unmodelled
from topology.allocator.objects import Alternatives, Claim, Slice
from topology.allocator.versions import Version


def refuse_betas(slices: Iterable[Slice], claims: Iterable[Claim], version: Version) -> None:
    """Unmodelled for the first one found, if the version has them off."""
    if version.betas:
        return
    used = [name for slice in slices for name in _in_slice(slice)]
    used += [name for claim in claims for name in _in_claim(claim)]
    if used:
        raise Unmodelled(f"{used[0]} on {version.name}, where its feature gate is off unless someone turned it on")


def _in_slice(slice: Slice) -> Iterable[str]:
    if slice.counters or any(device.consumes for device in slice.devices):
        yield "shared counters"
    if slice.per_device is not None:
        yield "perDeviceNodeSelection"
    if any(device.taints for device in slice.devices):
        yield "device taints"
    if any(device.shareable for device in slice.devices):
        yield "allowMultipleAllocations"
    if any(device.binding_conditions for device in slice.devices):
        yield "binding conditions"


def _in_claim(claim: Claim) -> Iterable[str]:
    if any(constraint.distinct for constraint in claim.constraints):
        yield "distinctAttribute"
    for request in claim.requests:
        for one in request.subrequests if isinstance(request, Alternatives) else (request,):
            if one.tolerations:
                yield "tolerations"
            if one.capacity is not None:
                yield "capacity requests"
