"""The fields of a plain object, each judged as it is taken: Malformed names the place and what is wrong with it.

at: the place, in words. default: what a field is that is missing; None where it must not be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from topology.allocator import quantity
from topology.allocator.errors import Malformed, Unmodelled
from topology.allocator.objects import Plain

_T = TypeVar("_T")


def known(thing: Plain, fields: set[str], at: str) -> None:
    """Unmodelled for a field that is not among these: it might decide."""
    for key, value in thing.items():
        if key not in fields and value is not None:
            raise Unmodelled(f"the field {key} of {at}")


def name_of(thing: Plain) -> str:
    """metadata.name."""
    kind = str(thing.get("kind"))
    return text(mapping(thing, "metadata", kind), "name", f"{kind}.metadata")


def _get(thing: Plain, key: str, at: str, default: _T | None, is_right: Callable[[Any], bool], what: str) -> Any:
    must_be_mapping(thing, at)
    value = thing.get(key)
    if value is None:
        if default is None:
            raise Malformed(at, f"{key} is missing")
        return default
    if not is_right(value):
        raise Malformed(at, f"{key} is {kind_of(value)}, not {what}")
    return value


def text(thing: Plain, key: str, at: str, default: str | None = None) -> str:
    """A string."""
    return str(_get(thing, key, at, default, lambda value: isinstance(value, str), "text"))


def whole(thing: Plain, key: str, at: str, default: int | None = None) -> int:
    """A whole number."""
    right = lambda value: isinstance(value, int) and not isinstance(value, bool)  # noqa: E731
    return int(_get(thing, key, at, default, right, "a whole number"))


def flag(thing: Plain, key: str, at: str) -> bool:
    """true or false; false where it is missing."""
    return bool(_get(thing, key, at, False, lambda value: isinstance(value, bool), "true or false"))


def mapping(thing: Any, key: str, at: str, default: Plain | None = None) -> Plain:
    """An object."""
    found: Plain = _get(thing, key, at, default, lambda value: isinstance(value, Mapping), "an object")
    return found


def strings(thing: Plain, key: str, at: str) -> Mapping[str, str]:
    """An object of strings; an empty one where it is missing."""
    return {str(name): str(value) for name, value in mapping(thing, key, at, {}).items()}


def listed(thing: Plain, key: str, at: str) -> list[Any]:
    """A list; an empty one where it is missing."""
    found: list[Any] = _get(thing, key, at, [], lambda value: isinstance(value, list), "a list")
    return found


def texts(thing: Plain, key: str, at: str) -> tuple[str, ...]:
    """A list of strings; an empty one where it is missing."""
    found = listed(thing, key, at)
    for one in found:
        if not isinstance(one, str):
            raise Malformed(at, f"an entry of {key} is {kind_of(one)}, not text")
    return tuple(found)


def must_be_mapping(thing: Any, at: str) -> None:
    """Malformed unless it is an object."""
    if not isinstance(thing, Mapping):
        raise Malformed(at, f"it is {kind_of(thing)}, not an object")


def amount(value: Any, at: str) -> int:
    """A quantity, in billionths."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Malformed(at, f"{value!r} is no quantity")
    try:
        return quantity.parse(str(value))
    except ValueError as error:
        raise Malformed(at, str(error)) from error


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    names = {dict: "an object", list: "a list", str: "text", int: "a number", float: "a number", bool: "true or false"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)
