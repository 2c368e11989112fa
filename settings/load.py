"""The only place that reads configuration: from Pulumi's when a program runs, from the file itself when none does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime.config import CONFIG
from pydantic import ValidationError

from settings import secrets
from settings.checks import judge
from settings.errors import Problem, SettingsError
from settings.explain import problems
from settings.kbs_secrets import judge_secrets, remedies
from settings.secrets import Secret
from settings.stack import PROJECT, Stack

_KEYS = [f"{PROJECT}:{field.alias or name}" for name, field in Stack.model_fields.items()]


def load() -> Stack:
    """The stack that the Pulumi program runs for. SettingsError tells every problem at once."""
    source = f"Pulumi.{pulumi.get_stack()}.yaml"
    config = pulumi.Config(PROJECT)
    found: dict[str, Any] = {}
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
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        problem = Problem("file", f"{path} cannot be read: {reason}.", "Name a stack that has a file.")
        raise SettingsError([problem], path.name) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "file"
        raise SettingsError([Problem(where, "is no YAML.", "Correct it there.")], path.name) from None
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict):
        problem = Problem("config", "is missing.", f"Write config: with keys {', '.join(_KEYS)} below.")
        raise SettingsError([problem], path.name)
    return _parse({name: config[f"{PROJECT}:{name}"] for name in _given(config)}, path.name, today)


def _given(config: Mapping[str, Any]) -> list[str]:
    prefix = f"{PROJECT}:"
    return [key.removeprefix(prefix) for key in config if key.startswith(prefix)]


def _parse(data: Mapping[str, Any], source: str, today: datetime | None = None) -> Stack:
    try:
        # By way of JSON, where strict means what a reader of the file expects: "1" is no number, a list is a list.
        stack = Stack.model_validate_json(json.dumps(data, default=str), strict=True)
    except ValidationError as error:
        raise SettingsError(problems(error, Stack), source) from None
    found = judge(stack, today or datetime.now(UTC))
    if found:
        raise SettingsError(found, source)
    return stack
