"""From what pydantic found to problems a person can act on: the key as in the stack file, the reason, the remedy."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from settings.errors import Problem
from settings.section import REFUSED

Loc = Sequence[int | str]

_WANTED = {
    "string_type": "text; put it in quotes",
    "bool_type": "true or false, without quotes",
    "int_type": "a whole number, without quotes",
    "tuple_type": "a list, with a line for each entry that starts with -",
    "dict_type": "a mapping, with a line key: value for each entry",
    "model_type": "a mapping, with a line key: value for each entry",
}


def problems(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Every problem, key by key. model: the one whose validation failed."""
    errors = error.errors(include_url=False)
    # A misspelt key is a missing one too; once is enough.
    meant = {
        (*found["loc"][:-1], close)
        for found in errors
        if found["type"] == "extra_forbidden"
        and (close := _closest(str(found["loc"][-1]), _fields(model, found["loc"][:-1]))) is not None
    }
    # An entry that is refused is not counted, so that a list of wrong ones seems to be empty.
    within = {found["loc"][:step] for found in errors for step in range(len(found["loc"]))}
    return [
        _problem(found, model)
        for found in errors
        if not (found["type"] == "missing" and found["loc"] in meant)
        and not (found["type"] == "too_short" and found["loc"] in within)
    ]


def empty_sections(data: Mapping[str, Any], model: type[BaseModel], at: Loc = ()) -> list[Problem]:
    """A problem for each section that is named and has nothing below it. It would count as one that is not there."""
    found = []
    for key, field in _by_key(model).items():
        section, value = _section(field.annotation), data.get(key)
        if key not in data or not (isinstance(section, type) and issubclass(section, BaseModel)):
            continue
        # pulumi hands a key without a value on as an empty text.
        if value is None or (value == "" and not at):
            remedy = "Write what belongs below it, or remove the key."
            found.append(Problem(dotted([*at, key]), "has no value.", remedy))
        elif isinstance(value, Mapping):
            found += empty_sections(value, section, [*at, key])
    return found


def dotted(loc: Loc) -> str:
    """("ring", "driver", "tolerations", 0) → "ringfence:ring.driver.tolerations[0]"; odd keys are quoted."""
    if not loc:
        return "ringfence"
    parts = ["ringfence:", str(loc[0])]
    for step in loc[1:]:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif re.fullmatch(r"[A-Za-z0-9-]+", step):
            parts.append(f".{step}")
        else:
            parts.append(f'["{step}"]')
    return "".join(parts)


def _unknown(loc: Loc, model: type[BaseModel]) -> Problem:
    valid = _fields(model, loc[:-1])
    close = _closest(str(loc[-1]), valid)
    remedy = f"Did you mean {close}?" if close else f"The keys here are {', '.join(sorted(valid))}."
    return Problem(dotted(loc), "there is no such key.", remedy)


def _closest(name: str, valid: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(name, valid, n=1)), None)


def _problem(found: ErrorDetails, model: type[BaseModel]) -> Problem:
    kind, value, context = found["type"], found["input"], found.get("ctx", {})
    loc = [step for step in found["loc"] if step != "[key]"]
    key = dotted(loc)
    if kind == REFUSED:
        return Problem(key, context["reason"], context["remedy"])
    if kind == "extra_forbidden":
        return _unknown(loc, model)
    if kind == "missing":
        field = _fields(model, loc[:-1]).get(str(loc[-1]))
        return Problem(key, "is missing.", f"Add it: {field.description if field else 'a value'}.")
    if kind == "too_short":
        return Problem(key, "is an empty list.", "Write at least one entry.")
    if kind == "literal_error":
        choices = [choice or '""' for choice in re.findall("'([^']*)'", context["expected"])]
        said = "has no value." if value is None else f"is {_shown(value)}."
        return Problem(key, said, f"Write {_or(choices)}.")
    if kind in {"greater_than_equal", "less_than_equal"}:
        word, limit = ("least", context.get("ge")) if "greater" in kind else ("most", context.get("le"))
        return Problem(key, f"is {value}.", f"Write at {word} {limit}.")
    if value is None:
        return Problem(key, "has no value.", "Write one, or remove the key.")
    if kind in _WANTED:
        return Problem(key, f"is {_shown(value)}.", f"Write {_WANTED[kind]}.")
    return Problem(key, f"is {_shown(value)}: {found['msg']}.", "Correct it.")


def _shown(value: Any) -> str:
    """As in the file. What is in a mapping or a list is not repeated: it may be long, and not for everyone."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return f"{'a mapping' if isinstance(value, dict) else 'a list'}{'' if value else ' without entries'}"
    return repr(value)


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _fields(model: type[BaseModel], loc: Loc) -> Mapping[str, FieldInfo]:
    """Key → field of the section at loc; empty where there is none."""
    section: Any = model
    for step in loc:
        if isinstance(step, int):
            section = _section(get_args(section)[0])
        elif get_origin(section) is dict:
            section = _section(get_args(section)[1])
        else:
            field = _by_key(section).get(step)
            if field is None:
                return {}
            section = _section(field.annotation)
    return _by_key(section) if isinstance(section, type) and issubclass(section, BaseModel) else {}


def _by_key(section: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in section.model_fields.items()}


def _section(annotation: Any) -> Any:
    """`Driver | None`, `Annotated[Driver, …]` → Driver."""
    if get_origin(annotation) is Annotated:
        return _section(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation
