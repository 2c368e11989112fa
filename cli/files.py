"""Kubernetes objects in files, as kubectl prints them: YAML or JSON, several documents, Lists."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from cli.output import MISUSED, fail
from policy.lint import text as texts

STDIN = Path("-")


def read_objects(path: Path) -> list[Any]:
    """The documents of a file, or of standard input for -, or one clear error and exit 2."""
    text = _text(path)
    try:
        # YAML does not take every JSON: tabs, say.
        return [texts.from_json(text)]
    except ValueError:
        return _yaml(path, text)


def _text(path: Path) -> str:
    try:
        return texts.decoded(sys.stdin.buffer.read() if path == STDIN else path.read_bytes())
    except OSError as error:
        fail(f"{path}: {error.strerror}.", MISUSED)
    except UnicodeDecodeError:
        fail(f"{path}: it is no text in UTF-8.", MISUSED)


def _yaml(path: Path, text: str) -> list[Any]:
    try:
        return _documents(text, texts.FAST)
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    try:
        return _documents(text, texts.SLOW)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason, line = texts.reason_of(error)
        where = f" line {line}:" if line is not None else ""
        fail(f"{path}:{where} neither YAML nor JSON: {reason}.", MISUSED)


def _documents(text: str, loader: Any) -> list[Any]:
    return [document for document in texts.documents(text, loader) if document is not None]
