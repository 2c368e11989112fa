"""The objects that the allocator looks at, read from plain resource.k8s.io/v1 (any driver's)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

AttributeValue = tuple[str, int | str | bool]
"""The kind that carries it ("int", "bool", "string" or "version") and the value: equal only if both are."""


@dataclass(frozen=True)
class NodeSelector:
    """Terms of which one must hold; a term is (matchExpressions, matchFields), each (key, operator, values)."""

    terms: tuple[tuple[tuple[Requirement, ...], tuple[Requirement, ...]], ...]


@dataclass(frozen=True)
class Requirement:
    """One requirement on a node's label or field."""

    key: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Node:
    """name, labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Taint:
    """A device's taint."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Toleration:
    """A request's toleration. Empty: any."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True)
class Capacity:
    """A device's capacity, in billionths, and what a request may take of it (requestPolicy)."""

    value: int
    default: int | None = None
    valid_values: tuple[int, ...] = ()
    valid_range: CapacityRange | None = None


@dataclass(frozen=True)
class CapacityRange:
    """In billionths."""

    min: int
    max: int | None
    step: int | None


@dataclass(frozen=True)
class Device:
    """One entry of spec.devices. consumes: (counter set, counter → billionths)."""

    name: str
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, Capacity]
    consumes: tuple[tuple[str, Mapping[str, int]], ...]
    taints: tuple[Taint, ...]
    shareable: bool
    binding_conditions: bool
    node_name: str = ""
    all_nodes: bool = False
    node_selector: NodeSelector | None = None


@dataclass(frozen=True)
class Slice:
    """A ResourceSlice. counters: (counter set, counter → billionths). per_device: None where it is not set."""

    name: str
    driver: str
    pool: str
    generation: int
    slice_count: int
    devices: tuple[Device, ...]
    counters: tuple[tuple[str, Mapping[str, int]], ...]
    node_name: str = ""
    all_nodes: bool = False
    node_selector: NodeSelector | None = None
    per_device: bool | None = None


@dataclass(frozen=True)
class DeviceClass:
    """name, CEL selectors."""

    name: str
    selectors: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """A request or subrequest. all: the mode `All`; count counts only without. capacity: name → billionths, or None."""

    name: str
    device_class: str
    selectors: tuple[str, ...]
    all: bool
    count: int
    admin: bool
    tolerations: tuple[Toleration, ...]
    capacity: Mapping[str, int] | None


@dataclass(frozen=True)
class Alternatives:
    """A request with `firstAvailable`."""

    name: str
    subrequests: tuple[Request, ...]


@dataclass(frozen=True)
class Constraint:
    """requests: empty for all of the claim. attribute: domain/name. distinct: pairwise different, else equal."""

    requests: frozenset[str]
    attribute: str
    distinct: bool

    def covers(self, request: str, subrequest: str = "") -> bool:
        """Whether it binds the devices of a request, or of one of its subrequests."""
        if not self.requests or request in self.requests:
            return True
        return bool(subrequest) and f"{request}/{subrequest}" in self.requests


DeviceId = tuple[str, str, str]
"""Driver, pool, device."""


@dataclass(frozen=True)
class Taken:
    """One device of an allocated claim. shared: it is a share, of which `capacity` (billionths) is consumed."""

    id: DeviceId
    shared: bool = False
    capacity: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Claim:
    """A ResourceClaim. taken: what it was given, admin access left out; None while it is pending."""

    namespace: str
    name: str
    requests: tuple[Request | Alternatives, ...]
    constraints: tuple[Constraint, ...]
    taken: tuple[Taken, ...] | None = None

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class World:
    """Everything that decides: claims with `taken` set are what is in use."""

    slices: Sequence[Slice]
    classes: Sequence[DeviceClass]
    claims: Sequence[Claim]
    nodes: Sequence[Node]


Plain = Mapping[str, Any]
