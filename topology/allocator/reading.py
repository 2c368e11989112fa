"""From plain resource.k8s.io/v1 dicts to objects. A field that may decide and is not known is refused, not passed over.

Malformed for what the API server would not take, Unmodelled for what the replica does not do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from topology.allocator import fields
from topology.allocator.errors import Malformed, Unmodelled
from topology.allocator.objects import (
    Alternatives,
    Claim,
    Constraint,
    DeviceClass,
    Node,
    Plain,
    Request,
    Slice,
    Taken,
    Toleration,
    World,
)
from topology.allocator.reading_slices import read_slice

API_VERSION = "resource.k8s.io/v1"


def read_world(objects: Iterable[Plain]) -> World:
    """Sort objects by kind; kinds that do not matter here are passed over. Lists are opened."""
    slices: list[Slice] = []
    classes: list[DeviceClass] = []
    claims: list[Claim] = []
    nodes: list[Node] = []
    for thing in opened(objects):
        kind = thing.get("kind")
        if kind == "Node":
            nodes.append(read_node(thing))
        elif kind in ("ResourceSlice", "DeviceClass", "ResourceClaim"):
            version = thing.get("apiVersion")
            if version != API_VERSION:
                raise Malformed(f"{kind} {fields.name_of(thing)}", f"apiVersion is {version!r}, not {API_VERSION!r}")
            if kind == "ResourceSlice":
                slices.append(read_slice(thing))
            elif kind == "DeviceClass":
                classes.append(read_class(thing))
            else:
                claims.append(read_claim(thing))
    for what, names in (
        ("ResourceSlice", [slice.name for slice in slices]),
        ("DeviceClass", [made.name for made in classes]),
        ("ResourceClaim", [claim.key for claim in claims]),
        ("Node", [node.name for node in nodes]),
    ):
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise Malformed(f"{what} {twice[0]}", "it is there twice", "Leave one out.")
    return World(tuple(slices), tuple(classes), tuple(claims), tuple(nodes))


def opened(objects: Iterable[Plain]) -> Iterable[Plain]:
    """The objects themselves, with those of a List in its place."""
    for thing in objects:
        if not isinstance(thing, Mapping):
            raise Malformed("document", f"it is {fields.kind_of(thing)}, not an object")
        if str(thing.get("kind", "")).endswith("List"):
            one = str(thing["kind"]).removesuffix("List")
            for item in fields.listed(thing, "items", str(thing["kind"])):
                # The items of a typed list do not say what they are.
                named = {"kind": one, "apiVersion": thing.get("apiVersion")} if one else {}
                yield from opened([{**named, **item} if isinstance(item, Mapping) else item])
        else:
            yield thing


def read_node(thing: Plain) -> Node:
    metadata = fields.mapping(thing, "metadata", "Node")
    return Node(fields.text(metadata, "name", "Node.metadata"), fields.strings(metadata, "labels", "Node.metadata"))


def read_class(thing: Plain) -> DeviceClass:
    name = fields.name_of(thing)
    at = f"DeviceClass {name}"
    spec = fields.mapping(thing, "spec", at)
    fields.known(spec, {"selectors", "config", "extendedResourceName", "managementPolicy"}, at)
    return DeviceClass(name, _selectors(spec, at))


_REQUEST = {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"}


def read_claim(thing: Plain) -> Claim:
    metadata = fields.mapping(thing, "metadata", "ResourceClaim")
    namespace, name = fields.text(metadata, "namespace", "ResourceClaim", "default"), fields.name_of(thing)
    at = f"ResourceClaim {namespace}/{name}"
    devices = fields.mapping(fields.mapping(thing, "spec", at), "devices", f"{at}.spec", {})
    fields.known(devices, {"requests", "constraints", "config"}, at)
    return Claim(
        namespace=namespace,
        name=name,
        requests=tuple(_request(one, f"{at} request") for one in fields.listed(devices, "requests", at)),
        constraints=tuple(_constraint(one, f"{at} constraint") for one in fields.listed(devices, "constraints", at)),
        taken=_taken(fields.mapping(thing, "status", at, {}), at),
    )


def _request(thing: Any, at: str) -> Request | Alternatives:
    fields.must_be_mapping(thing, at)
    name = fields.text(thing, "name", at)
    at = f"{at} {name}"
    fields.known(thing, {"name", "exactly", "firstAvailable"}, at)
    alternatives = fields.listed(thing, "firstAvailable", at)
    if bool(alternatives) == (thing.get("exactly") is not None):
        raise Malformed(at, "it must have exactly one of exactly, firstAvailable")
    if not alternatives:
        return _asked(fields.mapping(thing, "exactly", at), name, at)
    subrequests = []
    for one in alternatives:
        fields.must_be_mapping(one, at)
        if one.get("adminAccess") is not None:
            raise Malformed(at, "an alternative has no adminAccess")
        own = fields.text(one, "name", at)
        subrequests.append(_asked({key: one[key] for key in one if key != "name"}, own, f"{at}/{own}"))
    return Alternatives(name, tuple(subrequests))


def _asked(thing: Plain, name: str, at: str) -> Request:
    if thing.get("derivedAttributes"):
        raise Unmodelled("derived attributes (DRADerivedAttributes)")
    fields.known(thing, _REQUEST | {"derivedAttributes"}, at)
    mode = fields.text(thing, "allocationMode", at, "ExactCount")
    if mode not in ("ExactCount", "All"):
        raise Unmodelled(f"allocationMode {mode}")
    capacity = thing.get("capacity")
    count = fields.whole(thing, "count", at, 1 if mode == "ExactCount" else 0)
    if mode == "ExactCount" and count < 1:
        raise Malformed(at, f"count is {count}")
    asked = fields.mapping(capacity, "requests", at, {}) if capacity is not None else {}
    return Request(
        name=name,
        device_class=fields.text(thing, "deviceClassName", at),
        selectors=_selectors(thing, at),
        all=mode == "All",
        count=count,
        admin=fields.flag(thing, "adminAccess", at),
        tolerations=tuple(
            Toleration(*(fields.text(one, key, at, "") for key in ("key", "operator", "value", "effect")))
            for one in fields.listed(thing, "tolerations", at)
        ),
        capacity={key: fields.amount(value, at) for key, value in asked.items()} if capacity is not None else None,
    )


def _constraint(thing: Any, at: str) -> Constraint:
    fields.must_be_mapping(thing, at)
    fields.known(thing, {"requests", "matchAttribute", "distinctAttribute"}, at)
    match, distinct = thing.get("matchAttribute"), thing.get("distinctAttribute")
    if (match is None) == (distinct is None):
        raise Malformed(at, "it must have exactly one of matchAttribute, distinctAttribute")
    key = "matchAttribute" if match is not None else "distinctAttribute"
    return Constraint(frozenset(fields.texts(thing, "requests", at)), fields.text(thing, key, at), distinct is not None)


def _taken(status: Plain, at: str) -> tuple[Taken, ...] | None:
    # As the scheduler counts it: dynamicresources/allocateddevices.go.
    if status.get("allocation") is None:
        return None
    devices = fields.mapping(fields.mapping(status, "allocation", at), "devices", at, {})
    taken = []
    for one in fields.listed(devices, "results", at):
        fields.must_be_mapping(one, at)
        if fields.flag(one, "adminAccess", at):
            continue
        consumed = one.get("consumedCapacity")
        shared = one.get("shareID") is not None
        taken.append(
            Taken(
                (fields.text(one, "driver", at), fields.text(one, "pool", at), fields.text(one, "device", at)),
                shared,
                {key: fields.amount(value, at) for key, value in fields.mapping(one, "consumedCapacity", at).items()}
                if shared and consumed is not None
                else None,
            )
        )
    return tuple(taken)


def _selectors(thing: Plain, at: str) -> tuple[str, ...]:
    expressions = []
    for selector in fields.listed(thing, "selectors", at):
        fields.must_be_mapping(selector, at)
        if set(selector) != {"cel"}:
            raise Unmodelled(f"a selector of {', '.join(sorted(map(str, selector))) or 'nothing'}")
        expressions.append(fields.text(fields.mapping(selector, "cel", at), "expression", at))
    return tuple(expressions)
