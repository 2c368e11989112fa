"""How much a request takes of a device that several may share (consumable_capacity.go). Everything in billionths."""

from __future__ import annotations

from collections.abc import Mapping

from topology.allocator.errors import SchedulerError, Unmodelled
from topology.allocator.objects import Capacity, CapacityRange
from topology.allocator.quantity import MAX_INT64, MILLI, NANO, rounded_up
from topology.allocator.versions import Version

_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


def consumed(
    asked: Mapping[str, int] | None, offered: Mapping[str, Capacity], version: Version
) -> Mapping[str, int] | None:
    """What the request would take of each capacity of the device; None where a policy or a name forbids it.

    SchedulerError where the scheduler fails the pod: an amount that its rounding cannot represent.
    """
    asked = asked or {}
    if any(name not in offered for name in asked):
        return None
    amounts = {name: _amount(asked.get(name), one, name, version) for name, one in offered.items()}
    if any(_violates(amounts[name], one, version) for name, one in offered.items()):
        return None
    return amounts


def fits(
    amounts: Mapping[str, int], offered: Mapping[str, Capacity], before: Mapping[str, int], now: Mapping[str, int]
) -> bool:
    """Whether they fit beside what allocated claims take, and what this attempt has given out so far."""
    return all(
        amount + before.get(name, 0) + now.get(name, 0) <= offered[name].value for name, amount in amounts.items()
    )


def _amount(asked: int | None, offered: Capacity, name: str, version: Version) -> int:
    if asked is None:
        amount = offered.value if offered.default is None else offered.default
    elif offered.valid_range is not None:
        amount = _in_range(asked, offered.valid_range, name, version)
    else:
        amount = next((value for value in offered.valid_values if asked <= value), asked)
    if amount < 0:
        if not version.strict_capacity:
            raise Unmodelled("a negative capacity")
        raise SchedulerError(f'capacity "{name}": capacity value is negative')
    return amount


def _in_range(asked: int, span: CapacityRange, name: str, version: Version) -> int:
    if asked < span.min:
        return span.min
    if span.step is None:
        return asked
    unit = MILLI if _in_thousandths(span, version) else NANO
    if unit == MILLI and asked % MILLI:
        raise SchedulerError(f'capacity "{name}": {_NOT_REPRESENTABLE}')
    start, step = rounded_up(span.min, unit), rounded_up(span.step, unit)
    if step <= 0 or start < 0:
        raise Unmodelled("a range of capacity with a step of nothing or a negative min")
    amount = start + -(-(rounded_up(asked, unit) - start) // step) * step
    if amount > MAX_INT64 or asked > MAX_INT64 * NANO:
        if not version.strict_capacity:
            raise Unmodelled("an amount of capacity above 64 bits")
        raise SchedulerError(f'capacity "{name}": {_NOT_REPRESENTABLE}')
    return amount * unit


def _in_thousandths(span: CapacityRange, version: Version) -> bool:
    """useMilli: all of the range can be said in thousandths, and the step is at least one."""
    if not version.fractional_ranges:
        return False
    given = [value for value in (span.min, span.max, span.step) if value is not None]
    return all(value % MILLI == 0 and abs(value) // MILLI <= MAX_INT64 for value in given) and (
        span.step is None or span.step >= MILLI
    )


def _violates(amount: int, offered: Capacity, version: Version) -> bool:
    if offered.default is not None and amount == offered.default:
        return False
    span = offered.valid_range
    if span is not None:
        if span.max is not None and amount > span.max:
            return True
        if span.step is None:
            return False
        unit = MILLI if _in_thousandths(span, version) else NANO
        if unit == MILLI and amount % MILLI:
            return True
        step = rounded_up(span.step, unit)
        return step > 0 and (rounded_up(amount, unit) - rounded_up(span.min, unit)) % step != 0
    return bool(offered.valid_values) and amount not in offered.valid_values
