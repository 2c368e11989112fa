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


# Dumps of a whole cluster are large.
_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _documents(text: str, loader: Any) -> list[Any]:
    return [document for document in yaml.load_all(text, Loader=loader) if document is not None]


def _yaml(path: Path, text: str) -> list[Any]:
    try:
        return _documents(text, _FAST)
    except (yaml.YAMLError, ValueError):
        pass
    try:
        # The slow loader tells better where it is that something is wrong.
        return _documents(text, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}:" if mark is not None else ""
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        fail(f"{path}:{where} neither YAML nor JSON: {reason}.", MISUSED)
