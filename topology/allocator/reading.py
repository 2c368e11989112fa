"""From plain resource.k8s.io/v1 dicts to objects. A field that may decide and is not known is refused, not passed over.

Malformed for what the API server would not take, Unmodelled for what the replica does not do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from topology.allocator import quantity
from topology.allocator.errors import Malformed, Unmodelled
from topology.allocator.objects import (
    Alternatives,
    AttributeValue,
    Capacity,
    CapacityRange,
    Claim,
    Constraint,
    Device,
    DeviceClass,
    Node,
    NodeSelector,
    Plain,
    Request,
    Requirement,
    Slice,
    Taint,
    Taken,
    Toleration,
    World,
)

API_VERSION = "resource.k8s.io/v1"
_T = TypeVar("_T")


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
                raise Malformed(f"{kind} {_name(thing)}", f"apiVersion is {version!r}, not {API_VERSION!r}")
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
            raise Malformed("document", f"it is {_kind_of(thing)}, not an object")
        if str(thing.get("kind", "")).endswith("List"):
            one = str(thing["kind"]).removesuffix("List")
            for item in _list(thing, "items", str(thing["kind"])):
                # The items of a typed list do not say what they are.
                named = {"kind": one, "apiVersion": thing.get("apiVersion")} if one else {}
                yield from opened([{**named, **item} if isinstance(item, Mapping) else item])
        else:
            yield thing


def read_node(thing: Plain) -> Node:
    metadata = _map(thing, "metadata", "Node")
    return Node(_text(metadata, "name", "Node.metadata"), _strings(metadata, "labels", "Node.metadata"))


def read_class(thing: Plain) -> DeviceClass:
    name = _name(thing)
    at = f"DeviceClass {name}"
    spec = _map(thing, "spec", at)
    _known(spec, {"selectors", "config", "extendedResourceName", "managementPolicy"}, at)
    return DeviceClass(name, _selectors(spec, at))


_SLICE = {"driver", "pool", "nodeName", "nodeSelector", "allNodes", "devices", "perDeviceNodeSelection"}
_SLICE |= {"sharedCounters"}
_DEVICE = {"name", "attributes", "capacity", "consumesCounters", "nodeName", "nodeSelector", "allNodes", "taints"}
_DEVICE |= {"bindsToNode", "bindingConditions", "bindingFailureConditions", "allowMultipleAllocations"}


def read_slice(thing: Plain) -> Slice:
    name = _name(thing)
    at = f"ResourceSlice {name}"
    spec = _map(thing, "spec", at)
    _known(spec, _SLICE, at)
    pool = _map(spec, "pool", f"{at}.spec")
    return Slice(
        name=name,
        driver=_text(spec, "driver", f"{at}.spec"),
        pool=_text(pool, "name", f"{at}.spec.pool"),
        generation=_whole(pool, "generation", f"{at}.spec.pool", 0),
        slice_count=_whole(pool, "resourceSliceCount", f"{at}.spec.pool", 0),
        devices=tuple(_device(device, f"{at} device") for device in _list(spec, "devices", at)),
        counters=tuple(
            _counters(one, "name", f"{at}.spec.sharedCounters") for one in _list(spec, "sharedCounters", at)
        ),
        node_name=_text(spec, "nodeName", at, ""),
        all_nodes=_flag(spec, "allNodes", at),
        node_selector=read_node_selector(spec, at),
        per_device=None if spec.get("perDeviceNodeSelection") is None else _flag(spec, "perDeviceNodeSelection", at),
    )


def _device(thing: Any, at: str) -> Device:
    _is_map(thing, at)
    name = _text(thing, "name", at)
    at = f"{at} {name}"
    _known(thing, _DEVICE, at)
    attributes = _map(thing, "attributes", at, {})
    capacity = _map(thing, "capacity", at, {})
    return Device(
        name=name,
        attributes={key: _attribute(value, f"{at} attribute {key}") for key, value in attributes.items()},
        capacity={key: _capacity(value, f"{at} capacity {key}") for key, value in capacity.items()},
        consumes=tuple(_counters(one, "counterSet", at) for one in _list(thing, "consumesCounters", at)),
        taints=tuple(
            Taint(_text(taint, "key", at), _text(taint, "value", at, ""), _text(taint, "effect", at))
            for taint in _list(thing, "taints", at)
        ),
        shareable=_flag(thing, "allowMultipleAllocations", at),
        binding_conditions=thing.get("bindingConditions") is not None,
        node_name=_text(thing, "nodeName", at, ""),
        all_nodes=_flag(thing, "allNodes", at),
        node_selector=read_node_selector(thing, at),
    )


_KINDS: Mapping[str, type] = {"int": int, "bool": bool, "string": str, "version": str}


def _attribute(thing: Any, at: str) -> AttributeValue:
    _is_map(thing, at)
    given = [key for key, value in thing.items() if value is not None]
    if any(key in ("ints", "bools", "strings", "versions") for key in given):
        raise Unmodelled("attributes with lists of values (DRAListTypeAttributes)")
    if len(given) != 1 or given[0] not in _KINDS:
        raise Malformed(at, "it must have exactly one of int, bool, string, version")
    [kind] = given
    value: Any = thing[kind]
    if not isinstance(value, _KINDS[kind]) or (kind == "int" and isinstance(value, bool)):
        raise Malformed(at, f"{value!r} is no {kind}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Malformed(at, f"{value} does not fit in 64 bits")
    return kind, cast("int | str | bool", value)


def _capacity(thing: Any, at: str) -> Capacity:
    _is_map(thing, at)
    _known(thing, {"value", "requestPolicy"}, at)
    value = _quantity(thing.get("value"), at)
    policy = _map(thing, "requestPolicy", at, {})
    _known(policy, {"default", "validValues", "validRange"}, at)
    span = _map(policy, "validRange", at, {})
    _known(span, {"min", "max", "step"}, at)
    if span and span.get("min") is None:
        raise Unmodelled("a range of capacity without min")
    return Capacity(
        value=value,
        default=_quantity(policy["default"], at) if policy.get("default") is not None else None,
        valid_values=tuple(_quantity(one, at) for one in _list(policy, "validValues", at)),
        valid_range=CapacityRange(
            _quantity(span["min"], at),
            _quantity(span["max"], at) if span.get("max") is not None else None,
            _quantity(span["step"], at) if span.get("step") is not None else None,
        )
        if span
        else None,
    )


def _counters(thing: Any, key: str, at: str) -> tuple[str, Mapping[str, int]]:
    _is_map(thing, at)
    if thing.get("compatibilityGroups"):
        raise Unmodelled("compatibility groups (DRADeviceCompatibilityGroups)")
    _known(thing, {key, "counters", "compatibilityGroups"}, at)
    counters = _map(thing, "counters", at, {})
    return _text(thing, key, at), {
        name: _quantity(_map(counters, name, at).get("value"), f"{at} counter {name}") for name in counters
    }


def read_node_selector(thing: Plain, at: str) -> NodeSelector | None:
    """The nodeSelector of a slice, a device or an allocation."""
    if thing.get("nodeSelector") is None:
        return None
    terms = []
    for term in _list(_map(thing, "nodeSelector", at), "nodeSelectorTerms", f"{at}.nodeSelector"):
        _is_map(term, f"{at}.nodeSelector")
        expressions, fields = (
            tuple(
                Requirement(
                    _text(one, "key", at),
                    _text(one, "operator", at),
                    _texts(one, "values", at),
                )
                for one in _list(term, key, at)
            )
            for key in ("matchExpressions", "matchFields")
        )
        terms.append((expressions, fields))
    return NodeSelector(tuple(terms))


_REQUEST = {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"}


def read_claim(thing: Plain) -> Claim:
    metadata = _map(thing, "metadata", "ResourceClaim")
    namespace, name = _text(metadata, "namespace", "ResourceClaim", "default"), _name(thing)
    at = f"ResourceClaim {namespace}/{name}"
    devices = _map(_map(thing, "spec", at), "devices", f"{at}.spec", {})
    _known(devices, {"requests", "constraints", "config"}, at)
    return Claim(
        namespace=namespace,
        name=name,
        requests=tuple(_request(one, f"{at} request") for one in _list(devices, "requests", at)),
        constraints=tuple(_constraint(one, f"{at} constraint") for one in _list(devices, "constraints", at)),
        taken=_taken(_map(thing, "status", at, {}), at),
    )


def _request(thing: Any, at: str) -> Request | Alternatives:
    _is_map(thing, at)
    name = _text(thing, "name", at)
    at = f"{at} {name}"
    _known(thing, {"name", "exactly", "firstAvailable"}, at)
    alternatives = _list(thing, "firstAvailable", at)
    if bool(alternatives) == (thing.get("exactly") is not None):
        raise Malformed(at, "it must have exactly one of exactly, firstAvailable")
    if not alternatives:
        return _asked(_map(thing, "exactly", at), name, at)
    subrequests = []
    for one in alternatives:
        _is_map(one, at)
        if one.get("adminAccess") is not None:
            raise Malformed(at, "an alternative has no adminAccess")
        own = _text(one, "name", at)
        subrequests.append(_asked({key: one[key] for key in one if key != "name"}, own, f"{at}/{own}"))
    return Alternatives(name, tuple(subrequests))


def _asked(thing: Plain, name: str, at: str) -> Request:
    if thing.get("derivedAttributes"):
        raise Unmodelled("derived attributes (DRADerivedAttributes)")
    _known(thing, _REQUEST | {"derivedAttributes"}, at)
    mode = _text(thing, "allocationMode", at, "ExactCount")
    if mode not in ("ExactCount", "All"):
        raise Unmodelled(f"allocationMode {mode}")
    capacity = thing.get("capacity")
    count = _whole(thing, "count", at, 1 if mode == "ExactCount" else 0)
    if mode == "ExactCount" and count < 1:
        raise Malformed(at, f"count is {count}")
    asked = _map(capacity, "requests", at, {}) if capacity is not None else {}
    return Request(
        name=name,
        device_class=_text(thing, "deviceClassName", at),
        selectors=_selectors(thing, at),
        all=mode == "All",
        count=count,
        admin=_flag(thing, "adminAccess", at),
        tolerations=tuple(
            Toleration(*(_text(one, key, at, "") for key in ("key", "operator", "value", "effect")))
            for one in _list(thing, "tolerations", at)
        ),
        capacity={key: _quantity(value, at) for key, value in asked.items()} if capacity is not None else None,
    )


def _constraint(thing: Any, at: str) -> Constraint:
    _is_map(thing, at)
    _known(thing, {"requests", "matchAttribute", "distinctAttribute"}, at)
    match, distinct = thing.get("matchAttribute"), thing.get("distinctAttribute")
    if (match is None) == (distinct is None):
        raise Malformed(at, "it must have exactly one of matchAttribute, distinctAttribute")
    key = "matchAttribute" if match is not None else "distinctAttribute"
    return Constraint(frozenset(_texts(thing, "requests", at)), _text(thing, key, at), distinct is not None)


def _taken(status: Plain, at: str) -> tuple[Taken, ...] | None:
    # As the scheduler counts it: dynamicresources/allocateddevices.go.
    if status.get("allocation") is None:
        return None
    devices = _map(_map(status, "allocation", at), "devices", at, {})
    taken = []
    for one in _list(devices, "results", at):
        _is_map(one, at)
        if _flag(one, "adminAccess", at):
            continue
        consumed = one.get("consumedCapacity")
        shared = one.get("shareID") is not None
        taken.append(
            Taken(
                (_text(one, "driver", at), _text(one, "pool", at), _text(one, "device", at)),
                shared,
                {key: _quantity(value, at) for key, value in _map(one, "consumedCapacity", at).items()}
                if shared and consumed is not None
                else None,
            )
        )
    return tuple(taken)


def _selectors(thing: Plain, at: str) -> tuple[str, ...]:
    expressions = []
    for selector in _list(thing, "selectors", at):
        _is_map(selector, at)
        if set(selector) != {"cel"}:
            raise Unmodelled(f"a selector of {', '.join(sorted(map(str, selector))) or 'nothing'}")
        expressions.append(_text(_map(selector, "cel", at), "expression", at))
    return tuple(expressions)


def _known(thing: Plain, fields: set[str], at: str) -> None:
    for key, value in thing.items():
        if key not in fields and value is not None:
            raise Unmodelled(f"the field {key} of {at}")


def _name(thing: Plain) -> str:
    kind = str(thing.get("kind"))
    return _text(_map(thing, "metadata", kind), "name", f"{kind}.metadata")


def _get(thing: Plain, key: str, at: str, default: _T | None, is_right: Callable[[Any], bool], what: str) -> Any:
    _is_map(thing, at)
    value = thing.get(key)
    if value is None:
        if default is None:
            raise Malformed(at, f"{key} is missing")
        return default
    if not is_right(value):
        raise Malformed(at, f"{key} is {_kind_of(value)}, not {what}")
    return value


def _text(thing: Plain, key: str, at: str, default: str | None = None) -> str:
    return str(_get(thing, key, at, default, lambda value: isinstance(value, str), "text"))


def _whole(thing: Plain, key: str, at: str, default: int | None = None) -> int:
    right = lambda value: isinstance(value, int) and not isinstance(value, bool)  # noqa: E731
    return int(_get(thing, key, at, default, right, "a whole number"))


def _flag(thing: Plain, key: str, at: str) -> bool:
    return bool(_get(thing, key, at, False, lambda value: isinstance(value, bool), "true or false"))


def _map(thing: Any, key: str, at: str, default: Plain | None = None) -> Plain:
    _is_map(thing, at)
    found: Plain = _get(thing, key, at, default, lambda value: isinstance(value, Mapping), "an object")
    return found


def _strings(thing: Plain, key: str, at: str) -> Mapping[str, str]:
    return {str(name): str(value) for name, value in _map(thing, key, at, {}).items()}


def _list(thing: Plain, key: str, at: str) -> list[Any]:
    _is_map(thing, at)
    found: list[Any] = _get(thing, key, at, [], lambda value: isinstance(value, list), "a list")
    return found


def _texts(thing: Plain, key: str, at: str) -> tuple[str, ...]:
    found = _list(thing, key, at)
    for one in found:
        if not isinstance(one, str):
            raise Malformed(at, f"an entry of {key} is {_kind_of(one)}, not text")
    return tuple(found)


def _is_map(thing: Any, at: str) -> None:
    if not isinstance(thing, Mapping):
        raise Malformed(at, f"it is {_kind_of(thing)}, not an object")


def _quantity(value: Any, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Malformed(at, f"{value!r} is no quantity")
    try:
        return quantity.parse(str(value))
    except ValueError as error:
        raise Malformed(at, str(error)) from error


def _kind_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number", bool: "true or false"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)
