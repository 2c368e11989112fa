"""ResourceSlices from plain resource.k8s.io/v1 dicts, and the node selectors that they share with allocations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from topology.allocator import fields
from topology.allocator.errors import Malformed, Unmodelled
from topology.allocator.objects import (
    AttributeValue,
    Capacity,
    CapacityRange,
    Device,
    NodeSelector,
    Plain,
    Requirement,
    Slice,
    Taint,
)

_SLICE = {"driver", "pool", "nodeName", "nodeSelector", "allNodes", "devices", "perDeviceNodeSelection"}
_SLICE |= {"sharedCounters"}
_DEVICE = {"name", "attributes", "capacity", "consumesCounters", "nodeName", "nodeSelector", "allNodes", "taints"}
_DEVICE |= {"bindsToNode", "bindingConditions", "bindingFailureConditions", "allowMultipleAllocations"}


def read_slice(thing: Plain) -> Slice:
    name = fields.name_of(thing)
    at = f"ResourceSlice {name}"
    spec = fields.mapping(thing, "spec", at)
    fields.known(spec, _SLICE, at)
    pool = fields.mapping(spec, "pool", f"{at}.spec")
    return Slice(
        name=name,
        driver=fields.text(spec, "driver", f"{at}.spec"),
        pool=fields.text(pool, "name", f"{at}.spec.pool"),
        generation=fields.whole(pool, "generation", f"{at}.spec.pool", 0),
        slice_count=fields.whole(pool, "resourceSliceCount", f"{at}.spec.pool", 0),
        devices=tuple(_device(device, f"{at} device") for device in fields.listed(spec, "devices", at)),
        counters=tuple(
            _counters(one, "name", f"{at}.spec.sharedCounters") for one in fields.listed(spec, "sharedCounters", at)
        ),
        node_name=fields.text(spec, "nodeName", at, ""),
        all_nodes=fields.flag(spec, "allNodes", at),
        node_selector=read_node_selector(spec, at),
        per_device=None
        if spec.get("perDeviceNodeSelection") is None
        else fields.flag(spec, "perDeviceNodeSelection", at),
    )


def _device(thing: Any, at: str) -> Device:
    fields.must_be_mapping(thing, at)
    name = fields.text(thing, "name", at)
    at = f"{at} {name}"
    fields.known(thing, _DEVICE, at)
    attributes = fields.mapping(thing, "attributes", at, {})
    capacity = fields.mapping(thing, "capacity", at, {})
    return Device(
        name=name,
        attributes={key: _attribute(value, f"{at} attribute {key}") for key, value in attributes.items()},
        capacity={key: _capacity(value, f"{at} capacity {key}") for key, value in capacity.items()},
        consumes=tuple(_counters(one, "counterSet", at) for one in fields.listed(thing, "consumesCounters", at)),
        taints=tuple(
            Taint(fields.text(taint, "key", at), fields.text(taint, "value", at, ""), fields.text(taint, "effect", at))
            for taint in fields.listed(thing, "taints", at)
        ),
        shareable=fields.flag(thing, "allowMultipleAllocations", at),
        binding_conditions=thing.get("bindingConditions") is not None,
        node_name=fields.text(thing, "nodeName", at, ""),
        all_nodes=fields.flag(thing, "allNodes", at),
        node_selector=read_node_selector(thing, at),
    )


_KINDS: Mapping[str, type] = {"int": int, "bool": bool, "string": str, "version": str}


def _attribute(thing: Any, at: str) -> AttributeValue:
    fields.must_be_mapping(thing, at)
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
    fields.must_be_mapping(thing, at)
    fields.known(thing, {"value", "requestPolicy"}, at)
    value = fields.amount(thing.get("value"), at)
    policy = fields.mapping(thing, "requestPolicy", at, {})
    fields.known(policy, {"default", "validValues", "validRange"}, at)
    span = fields.mapping(policy, "validRange", at, {})
    fields.known(span, {"min", "max", "step"}, at)
    if span and span.get("min") is None:
        raise Unmodelled("a range of capacity without min")
    return Capacity(
        value=value,
        default=fields.amount(policy["default"], at) if policy.get("default") is not None else None,
        valid_values=tuple(fields.amount(one, at) for one in fields.listed(policy, "validValues", at)),
        valid_range=CapacityRange(
            fields.amount(span["min"], at),
            fields.amount(span["max"], at) if span.get("max") is not None else None,
            fields.amount(span["step"], at) if span.get("step") is not None else None,
        )
        if span
        else None,
    )


def _counters(thing: Any, key: str, at: str) -> tuple[str, Mapping[str, int]]:
    fields.must_be_mapping(thing, at)
    if thing.get("compatibilityGroups"):
        raise Unmodelled("compatibility groups (DRADeviceCompatibilityGroups)")
    fields.known(thing, {key, "counters", "compatibilityGroups"}, at)
    counters = fields.mapping(thing, "counters", at, {})
    return fields.text(thing, key, at), {
        name: fields.amount(fields.mapping(counters, name, at).get("value"), f"{at} counter {name}")
        for name in counters
    }


def read_node_selector(thing: Plain, at: str) -> NodeSelector | None:
    """The nodeSelector of a slice, a device or an allocation."""
    if thing.get("nodeSelector") is None:
        return None
    terms = []
    for term in fields.listed(fields.mapping(thing, "nodeSelector", at), "nodeSelectorTerms", f"{at}.nodeSelector"):
        fields.must_be_mapping(term, f"{at}.nodeSelector")
        expressions, of_fields = (
            tuple(
                Requirement(
                    fields.text(one, "key", at),
                    fields.text(one, "operator", at),
                    fields.texts(one, "values", at),
                )
                for one in fields.listed(term, key, at)
            )
            for key in ("matchExpressions", "matchFields")
        )
        terms.append((expressions, of_fields))
    return NodeSelector(tuple(terms))
