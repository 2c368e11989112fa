"""Which devices of the fleet a request could take, by its class and its selectors, and where its CEL fails."""

from __future__ import annotations

from dataclasses import dataclass

from policy.rules.context import Context
from policy.rules.find import Asked
from topology.allocator.errors import SchedulerError, Unmodelled
from topology.allocator.objects import Device, Slice
from topology.allocator.selectors import compiled

Spot = tuple[Slice, Device]


@dataclass(frozen=True)
class Failure:
    """Evaluating an expression on a device fails."""

    expression: str
    spot: Spot
    why: str


@dataclass(frozen=True)
class Reach:
    """of_class: devices that the class lets in. devices: those of them that the selectors let in, too.

    failures: the first one of each expression. unmodelled: why nothing can be said, or empty.
    """

    of_class: tuple[Spot, ...] = ()
    devices: tuple[Spot, ...] = ()
    failures: tuple[Failure, ...] = ()
    unmodelled: str = ""


def expressions(one: Asked) -> tuple[str, ...] | None:
    """The CEL of a request; None where one of it is not known or no text."""
    found = [selector.at("cel", "expression").text() for selector in one.at.at("selectors").items()]
    return None if None in found else tuple(text for text in found if text is not None)


def reach(one: Asked, context: Context) -> Reach | None:
    """None where the class is not known, or nothing is known of any device."""
    name, own = one.at.at("deviceClassName").text(), expressions(one)
    of_class = context.classes.get(name or "")
    if not context.fleet or of_class is None or own is None:
        return None
    return evaluate(of_class, own, context)


def evaluate(of_class: tuple[str, ...], own: tuple[str, ...], context: Context) -> Reach:
    """The devices that these expressions let in."""
    failures: dict[str, Failure] = {}
    in_class: list[Spot] = []
    let_in: list[Spot] = []
    try:
        for spot in context.fleet.devices:
            if _all(of_class, spot, failures):
                in_class.append(spot)
                if _all(own, spot, failures):
                    let_in.append(spot)
    except Unmodelled as error:
        return Reach(unmodelled=error.feature)
    return Reach(tuple(in_class), tuple(let_in), tuple(failures.values()))


def _all(tests: tuple[str, ...], spot: Spot, failures: dict[str, Failure]) -> bool:
    slice, device = spot
    for expression in tests:
        try:
            if not compiled(expression).matches(slice.driver, device):
                return False
        except SchedulerError as error:
            failures.setdefault(expression, Failure(expression, spot, error.why))
            return False
    return True
