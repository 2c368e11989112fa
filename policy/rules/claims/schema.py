"""The fields of claims, templates and classes with their types, as k8s.io/api/resource/v1 types.go has them (1.37)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policy.rules.find import CLAIM, CLASS, TEMPLATE
from policy.rules.model import Finding
from policy.rules.speak import close
from policy.rules.view import UNKNOWN, View


class Plain(StrEnum):
    """A value without parts; the value is what people call it."""

    TEXT = "text"
    WHOLE = "a whole number"
    FLAG = "true or false"
    QUANTITY = "a quantity"
    ANY = "anything"


@dataclass(frozen=True)
class Fields:
    """A mapping with these keys. open: others are not looked at."""

    known: Mapping[str, Shape]
    open: bool = False


@dataclass(frozen=True)
class Each:
    """A mapping with any keys, or a list, whose values all have one shape."""

    shape: Shape
    list: bool = False


Shape = Plain | Fields | Each

TEXT, WHOLE, FLAG, QUANTITY, ANY = Plain
_NAMES = Each(TEXT, list=True)
_METADATA = Fields({"name": TEXT, "namespace": TEXT, "labels": Each(TEXT), "annotations": Each(TEXT)}, open=True)
_SELECTORS = Each(Fields({"cel": Fields({"expression": TEXT})}), list=True)
_OPAQUE = Fields({"driver": TEXT, "parameters": ANY})
_TOLERATION = Fields({"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT, "tolerationSeconds": WHOLE})
_ASKED: Mapping[str, Shape] = {
    "deviceClassName": TEXT,
    "selectors": _SELECTORS,
    "allocationMode": TEXT,
    "count": WHOLE,
    "adminAccess": FLAG,
    "tolerations": Each(_TOLERATION, list=True),
    "capacity": Fields({"requests": Each(QUANTITY)}),
    "derivedAttributes": Each(Fields({"name": TEXT, "expression": TEXT}), list=True),
}
ASKED = tuple(_ASKED)
"""What a request says below `exactly`, and said beside its name in v1beta1."""

_REQUEST = Fields(
    {"name": TEXT, "exactly": Fields(_ASKED), "firstAvailable": Each(Fields({"name": TEXT, **_ASKED}), list=True)}
)
_SPEC = Fields(
    {
        "devices": Fields(
            {
                "requests": Each(_REQUEST, list=True),
                "constraints": Each(
                    Fields({"requests": _NAMES, "matchAttribute": TEXT, "distinctAttribute": TEXT}), list=True
                ),
                "config": Each(Fields({"requests": _NAMES, "opaque": _OPAQUE}), list=True),
            }
        )
    }
)
_CLASS = Fields(
    {
        "selectors": _SELECTORS,
        "config": Each(Fields({"opaque": _OPAQUE}), list=True),
        "extendedResourceName": TEXT,
        "managementPolicy": ANY,
    }
)


def _object(spec: Shape) -> Fields:
    return Fields({"apiVersion": TEXT, "kind": TEXT, "metadata": _METADATA, "spec": spec, "status": ANY})


SHAPES: Mapping[str, Fields] = {
    CLAIM: _object(_SPEC),
    TEMPLATE: _object(Fields({"metadata": _METADATA, "spec": _SPEC})),
    CLASS: _object(_CLASS),
}

# Where a whole part stands on the wrong floor, the floor is told instead of the fields that are there.
_FLOORS = {
    (TEMPLATE, "spec.devices"): "A template has a claim's spec inside its own: write spec: {spec: {devices: …}}.",
    (TEMPLATE, "spec.requests"): "Write it below spec.spec.devices.",
    (TEMPLATE, "spec.spec.requests"): "Write it below spec.spec.devices.",
    (CLAIM, "spec.spec"): "Only a template has a spec inside its spec: write spec: {devices: …}.",
    (CLAIM, "spec.requests"): "Write it below spec.devices.",
}


def misplaced(view: View, shape: Shape, kind: str) -> Iterator[Finding]:
    """Fields that are not in the shape, and values of another type. What is missing or not known yet is passed over."""
    if view.absent or view.value is UNKNOWN:
        return
    if isinstance(shape, Plain):
        if not _is(view.value, shape):
            yield _other(view, shape.value, _instead(view, shape))
    elif isinstance(shape, Each) and shape.list:
        if not isinstance(view.value, list):
            yield _other(view, "a list", "Begin each entry with a dash.")
        for inner in view.items():
            yield from misplaced(inner, shape.shape, kind)
    elif not isinstance(view.value, Mapping):
        fields = listing(shape) if isinstance(shape, Fields) else ""
        dash = isinstance(view.value, list) and fields
        yield _other(
            view, "a mapping", f"Write {fields} below it{', without a dash' if dash else ''}." if fields else ""
        )
    elif isinstance(shape, Each):
        for _, inner in view.entries():
            yield from misplaced(inner, shape.shape, kind)
    else:
        yield from _fields(view, shape, kind)


def listing(shape: Fields) -> str:
    return ", ".join(shape.known)


def _fields(view: View, shape: Fields, kind: str) -> Iterator[Finding]:
    for key, inner in view.entries():
        if key in shape.known:
            yield from misplaced(inner, shape.known[key], kind)
        elif not shape.open and inner.value is not None and not key.startswith("__"):
            meant = close(key, list(shape.known))
            floor = _FLOORS.get((kind, ".".join(map(str, inner.path))))
            yield Finding(
                inner.path,
                f"There is no field {key} here; kubectl refuses it, and Pulumi drops it without a word.",
                floor or (f"Did you mean {meant}?" if meant else f"Write one of {listing(shape)}."),
            )


def _other(view: View, wanted: str, instead: str) -> Finding:
    name = next((step for step in reversed(view.path) if isinstance(step, str)), "it")
    what = name if view.path and view.path[-1] == name else f"An entry of {name}"
    return Finding(
        view.path, f"{what} is {called(view.value)}, not {wanted}; the API server refuses it.", instead or "Correct it."
    )


def called(value: Any) -> str:
    """A value's type, as people say it."""
    if isinstance(value, bool):
        return "true or false"
    names = {Mapping: "a mapping", list: "a list", str: "text", int: "a number", float: "a number"}
    return next((name for type_, name in names.items() if isinstance(value, type_)), f"a {type(value).__name__}")


def _is(value: Any, shape: Plain) -> bool:
    if shape is Plain.ANY:
        return True
    if shape is Plain.FLAG:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if shape is Plain.WHOLE:
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, str) or (shape is Plain.QUANTITY and isinstance(value, int | float))


def _instead(view: View, shape: Plain) -> str:
    if shape is Plain.TEXT and isinstance(view.value, bool | int | float):
        return "Put it in quotes."
    if shape in (Plain.WHOLE, Plain.FLAG) and isinstance(view.value, str):
        return "Write it without quotes." if re.fullmatch(r"-?\d+|true|false", view.value) else f"Write {shape}."
    return f"Write {shape}."
