"""What a claim's constraints remember while devices are tried (allocator_incubating.go, constraint.go)."""

from __future__ import annotations

from typing import Protocol

from topology.allocator.objects import AttributeValue, Constraint, Device
from topology.allocator.versions import Version


class State(Protocol):
    """One constraint during a search. `request` is the name of the request, not of the subrequest."""

    def add(self, request: str, value: AttributeValue) -> bool:
        """Whether a device with this value may join; it then has."""

    def remove(self, request: str) -> None:
        """Take back the last one that joined."""


class Match:
    """matchAttribute. The search looks into `count` and `value` itself, for speed."""

    __slots__ = ("count", "value")

    def __init__(self) -> None:
        self.count = 0
        self.value: AttributeValue | None = None

    def add(self, request: str, value: AttributeValue) -> bool:  # noqa: ARG002
        if self.count and self.value != value:
            return False
        # Equal where there were some already.
        self.value = value
        self.count += 1
        return True

    def remove(self, request: str) -> None:  # noqa: ARG002
        self.count -= 1


class Distinct:
    """distinctAttribute."""

    def __init__(self) -> None:
        self._values: list[AttributeValue] = []

    def add(self, request: str, value: AttributeValue) -> bool:  # noqa: ARG002
        if value in self._values:
            return False
        self._values.append(value)
        return True

    def remove(self, request: str) -> None:  # noqa: ARG002
        self._values.pop()


class DistinctByRequest:
    """distinctAttribute up to 1.36: a request's next device overwrites what is known of the one before."""

    def __init__(self) -> None:
        self._values: dict[str, AttributeValue] = {}
        self._count = 0

    def add(self, request: str, value: AttributeValue) -> bool:
        if self._count and value in self._values.values():
            return False
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str) -> None:
        self._values.pop(request, None)
        self._count -= 1


def state_of(constraint: Constraint, version: Version) -> State:
    """A fresh one."""
    if not constraint.distinct:
        return Match()
    return DistinctByRequest() if version.distinct_by_request else Distinct()


def value_of(driver: str, device: Device, attribute: str) -> AttributeValue | None:
    """By the full name, else by the bare one if its domain is the driver (lookupAttribute)."""
    value = device.attributes.get(attribute)
    if value is not None:
        return value
    domain, slash, name = attribute.partition("/")
    return device.attributes.get(name) if slash and domain == driver else None
