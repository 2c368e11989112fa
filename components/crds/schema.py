"""From a model to the structural OpenAPI v3 schema of a CRD: plain data, the same on every run."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from components.crds.core_types import core_type
from settings.crs.fields import Core, Dead, Fields, Format, Nullable

Schema = dict[str, Any]

_SCALARS = {str: "string", bool: "boolean", int: "integer"}


def structural(model: type[Fields]) -> Schema:
    """The schema of an object. TypeError for an annotation that no CRD could express."""
    properties = {field.alias or name: _field(field) for name, field in model.model_fields.items()}
    required = sorted(field.alias or name for name, field in model.model_fields.items() if field.is_required())
    found: Schema = {"description": " ".join((inspect.getdoc(model) or "").split()), "type": "object"}
    # Written only where there are any: the API server drops what is empty.
    return found | ({"properties": properties} if properties else {}) | ({"required": required} if required else {})


def _field(field: FieldInfo) -> Schema:
    found = _type(field.annotation, field.metadata)
    said = " ".join([f"{field.description}.", *_deaths(field.metadata)]) if field.description else ""
    return found | ({"description": said} if said else {})


def _deaths(marks: Iterable[Any]) -> list[str]:
    return [
        f"DEAD: {f'{mark.part} is' if mark.part else 'this is'} accepted and ignored; {mark.why}"
        for mark in marks
        if isinstance(mark, Dead)
    ]


def _type(annotation: Any, marks: Iterable[Any] = ()) -> Schema:
    marks = list(marks)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0], [*parts[1:], *marks])
    if origin in {Union, types.UnionType}:
        # None is how Python leaves a field out; what may be null on the wire is marked as such.
        (inner,) = (part for part in parts if part is not type(None))
        return _type(inner, marks)
    found = next((core_type(mark.kind) for mark in marks if isinstance(mark, Core)), None)
    if found is None:
        found = _plain(annotation, origin, parts)
    for mark in marks:
        if isinstance(mark, Format):
            found["format"] = mark.name
        elif isinstance(mark, Nullable):
            found["nullable"] = True
    return found


def _plain(annotation: Any, origin: Any, parts: tuple[Any, ...]) -> Schema:
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if origin is tuple and len(parts) == 2 and parts[1] is ...:
        return {"type": "array", "items": _type(parts[0])}
    if origin is dict and parts[0] is str:
        return {"type": "object", "additionalProperties": _type(parts[1])}
    if isinstance(annotation, type) and issubclass(annotation, Fields):
        return structural(annotation)
    if annotation in _SCALARS:
        return {"type": _SCALARS[annotation]}
    raise TypeError(f"{annotation} has no structural schema")
