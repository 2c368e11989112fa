"""Kubernetes objects in files, as kubectl prints them: YAML or JSON, several documents, Lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from cli.output import MISUSED, fail


def read_objects(path: Path) -> list[Any]:
    """The documents of a file, or one clear error and exit 2."""
    text = _text(path)
    try:
        # YAML does not take every JSON: tabs, say.
        return [json.loads(text)]
    except ValueError:
        return _yaml(path, text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        fail(f"{path}: {error.strerror}.", MISUSED)
    except UnicodeDecodeError:
        fail(f"{path}: it is no text.", MISUSED)


def _yaml(path: Path, text: str) -> list[Any]:
    try:
        # The C loader where there is one: dumps of a whole cluster are large.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return [document for document in yaml.load_all(text, Loader=loader) if document is not None]
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}:" if mark is not None else ""
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        fail(f"{path}:{where} neither YAML nor JSON: {reason}.", MISUSED)
