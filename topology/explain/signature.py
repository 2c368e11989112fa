"""What of a node decides about claims, without the names in it: nodes with the same are searched in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from topology.allocator import Claim
from topology.allocator.constraints import value_of
from topology.explain.candidates import Choices, Place
from topology.explain.local import Local


@dataclass(frozen=True)
class Signature:
    """Of each pool, and of each device in the search's order."""

    pools: tuple[tuple[bool, bool], ...]
    devices: tuple[Any, ...]

    def sorted(self) -> tuple[Any, ...]:
        """The same for nodes that differ in the order of their devices: what fits is the same, not what it costs."""
        return tuple(sorted(map(repr, self.pools))), tuple(sorted(map(repr, self.devices)))


def signature(local: Local, claims: Sequence[Claim], chosen: Sequence[Choices], where: Sequence[Place]) -> Signature:
    """Values of attributes are numbered as they come up: constraints only ask whether they are equal."""
    attributes = sorted({one.attribute for claim in claims for one in claim.constraints})
    numbers: dict[str, dict[Any, int]] = {name: {} for name in attributes}
    reasons = [{one.device: (one.why.value, one.detail) for one in asked.refused} for asked in chosen]
    whole = local.shared().whole
    return Signature(
        tuple((pool.incomplete, bool(pool.invalid)) for pool in local.pools()),
        tuple(
            (
                tuple(one.get(place.id) for one in reasons),
                tuple(_number(numbers[name], value_of(place.id[0], place.device, name)) for name in attributes),
                place.id in whole,
                _parts(local, place),
            )
            for place in where
        ),
    )


def _number(known: dict[Any, int], value: Any) -> int | None:
    return None if value is None else known.setdefault(value, len(known))


def _parts(local: Local, place: Place) -> Any:
    """All there is to know of a device that is given out in parts. Nodes with such are alike only if it is the same."""
    device = place.device
    if not (device.shareable or device.consumes):
        return None
    used = [one.taken for one in local.holdings if one.device[:2] == place.id[:2]]
    return repr((place.id, device.capacity, device.consumes, place.pool.counters, used))
