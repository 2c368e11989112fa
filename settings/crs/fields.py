"""The base of the models, and the marks that a type alone cannot carry. They match the real CRDs, faults and all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Fields(BaseModel):
    """One object of a custom resource. Written in snake_case or as on the wire; an unknown field is refused here.

    The API server would drop it without a word.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    def manifest(self) -> dict[str, Any]:
        """As it is sent: by the names on the wire, and without what was not set."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True)
class Dead:
    """The API takes the field and the operator never acts on it. why: a sentence. part: of the field, if not all."""

    why: str
    part: str | None = None


@dataclass(frozen=True)
class Core:
    """The field has a type of Kubernetes itself, whose schema is a library's; see components.crds.core_types."""

    kind: str


@dataclass(frozen=True)
class Format:
    """The format of a number in OpenAPI, such as int32."""

    name: str


@dataclass(frozen=True)
class Nullable:
    """The field may be null on the wire."""


EnvVar = Annotated[dict[str, Any], Core("EnvVar")]
LabelSelector = Annotated[dict[str, Any], Core("LabelSelector")]
LocalObjectReference = Annotated[dict[str, Any], Core("LocalObjectReference")]
Toleration = Annotated[dict[str, Any], Core("Toleration")]
Volume = Annotated[dict[str, Any], Core("Volume")]
VolumeMount = Annotated[dict[str, Any], Core("VolumeMount")]


@dataclass(frozen=True)
class DeadField:
    """path: as on the wire, e.g. "spec.config.preInstall.cmd". required: the API demands it nevertheless."""

    path: str
    why: str
    required: bool


def dead_fields(model: type[Fields]) -> tuple[DeadField, ...]:
    """The fields of a custom resource that are accepted and do nothing, in the order of the model."""
    return tuple(_dead(model, ""))


def _dead(model: type[Fields], prefix: str) -> Iterator[DeadField]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        for mark in field.metadata:
            if isinstance(mark, Dead):
                yield DeadField(f"{path}.{mark.part}" if mark.part else path, mark.why, field.is_required())
        kind, many = element(field.annotation)
        if isinstance(kind, type) and issubclass(kind, Fields):
            yield from _dead(kind, f"{path}[]." if many else f"{path}.")


def element(annotation: Any) -> tuple[Any, bool]:
    """`tuple[X, ...] | None` → X and that there are many of it; `X | None` → X."""
    if get_origin(annotation) in {Union, UnionType}:
        (annotation,) = (part for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is tuple:
        return get_args(annotation)[0], True
    return annotation, False
