"""The only place that reads configuration: from Pulumi's when a program runs, from the file itself when none does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime.config import CONFIG, is_config_secret
from pydantic import ValidationError

from settings import secrets, stack_file
from settings.checks import judge
from settings.errors import Problem, SettingsError
from settings.explain import dotted, empty_sections, problems
from settings.kbs_secrets import judge_secrets, remedies
from settings.secrets import Secret
from settings.stack import PROJECT, Stack

ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""For read(): a day on which nothing has expired."""

_KEYS = [f"{PROJECT}:{field.alias or name}" for name, field in Stack.model_fields.items()]


def load() -> Stack:
    """The stack that the Pulumi program runs for. SettingsError tells every problem at once."""
    source = f"Pulumi.{pulumi.get_stack()}.yaml"
    config = pulumi.Config(PROJECT)
    found: dict[str, Any] = {}
    encrypted = [name for name in _given(CONFIG.get()) if is_config_secret(f"{PROJECT}:{name}")]
    if encrypted:
        # Not looked at any further: whatever is said of a section may quote what is in it.
        raise SettingsError([_within(dotted([name])) for name in encrypted], source)
    for name in _given(CONFIG.get()):
        try:
            found[name] = config.require_object(name)
        except pulumi.ConfigTypeError:
            # Not even JSON, so plain text where a mapping belongs; said with all the rest.
            found[name] = config.require(name)
    return _parse(found, source)


def secrets_of(stack: Stack) -> Mapping[str, Secret]:
    """The secrets that the stack names, from the configuration of the program that runs. SettingsError."""
    fence = stack.fence
    if fence is None:
        return {}
    made = remedies(fence.kbs, pulumi.get_stack()) if fence.kbs is not None else {}
    found, wrong = secrets.load(fence.secret_names, made)
    if not wrong and fence.kbs is not None:
        wrong = judge_secrets(fence.kbs, found, datetime.now(UTC))
    if wrong:
        raise SettingsError(wrong, f"Pulumi.{pulumi.get_stack()}.yaml")
    return found


def read(path: Path, today: datetime | None = None) -> Stack:
    """The stack that a stack file describes. SettingsError tells every problem at once.

    today: with a time zone; another day than this one, by which it is judged what has expired.
    """
    try:
        data = stack_file.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        problem = Problem("file", f"{path} cannot be read: {reason}.", "Name a stack that has a file.")
        raise SettingsError([problem], path.name) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "file"
        why = getattr(error, "problem", None) or "it is no YAML"
        raise SettingsError([Problem(where, f"cannot be read: {why}.", "Correct it there.")], path.name) from None
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict):
        problem = Problem("config", "is missing.", f"Write config: with keys {', '.join(_KEYS)} below.")
        raise SettingsError([problem], path.name)
    given = {name: config[f"{PROJECT}:{name}"] for name in _given(config)}
    encrypted = [_within(dotted(at)) for at in _encrypted(given, ())]
    if encrypted:
        raise SettingsError(encrypted, path.name)
    return _parse(given, path.name, today)


def _within(key: str) -> Problem:
    reason = "has an encrypted value in it, and a section is for everyone to read."
    return Problem(
        key, reason, f"Put it under {secrets.key_of('NAME')} and write the name here: see docs/confidential.md."
    )


def _encrypted(value: Any, at: tuple[int | str, ...]) -> Iterator[tuple[int | str, ...]]:
    """Where pulumi has left `secure: …`."""
    if isinstance(value, Mapping) and set(value) == {"secure"}:
        yield at
    elif isinstance(value, Mapping | list):
        for step, inside in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _encrypted(inside, (*at, step if isinstance(step, int) else str(step)))


def _given(config: Mapping[str, Any]) -> list[str]:
    prefix = f"{PROJECT}:"
    return [key.removeprefix(prefix) for key in config if key.startswith(prefix)]


def _parse(data: Mapping[str, Any], source: str, today: datetime | None = None) -> Stack:
    empty = empty_sections(data, Stack)
    try:
        # By way of JSON, where strict means what a reader of the file expects: "1" is no number, a list is a list.
        stack = Stack.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        told = problems(error, Stack)
        known = {one.key for one in empty}
        raise SettingsError([*(one for one in told if one.key not in known), *empty], source) from None
    found = empty or judge(stack, today or datetime.now(UTC))
    if found:
        raise SettingsError(found, source)
    return stack
