"""Secrets in other people's sentences: a rule, a provider or an API server may quote what it complains about."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from policy.preview.shown import Path

_SHORTEST = 4
"""Characters: what is shorter is too common in sentences to be told from a word."""

_NO_SECRETS = frozenset({"true", "false"})
"""What a switch with a telling name says (automountServiceAccountToken), and many a sentence too."""

MASK = "[secret]"
_TELLING = re.compile(
    r"secret|token|passw|pwd|credential|private|auth|kubeconfig|api_?key|proxy|\.pem$|^parameters$", re.I
)
_DATA = frozenset({"data", "stringData", "binaryData"})


def spoken(kind: str, value: Any, secret: Sequence[Path], path: Path = ()) -> Iterator[str]:
    """The strings of an object that are secrets, or look like it: of Secrets and ConfigMaps all data, whatever has
    a telling name, and what stands where pulumi marks a secret."""
    if isinstance(value, Mapping):
        # An environment variable has its telling name beside it.
        named = isinstance(value.get("name"), str) and bool(_TELLING.search(value["name"]))
        for key, item in value.items():
            step = (*path, str(key))
            if (named and key == "value") or _TELLING.search(str(key)):
                yield from _strings(item)
            else:
                yield from spoken(kind, item, secret, step)
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from spoken(kind, item, secret, (*path, str(index)))
        return
    inside = bool(path) and path[0] in _DATA and kind in ("Secret", "ConfigMap")
    if inside or any(_starts(path, one) for one in secret):
        yield from _strings(value)


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, the longest first: one may contain another."""
    for one in sorted(secrets, key=lambda secret: (-len(secret), secret)):
        text = text.replace(one, MASK)
    return text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        for text in {value, value.strip(), *value.splitlines(), _decoded(value), _encoded(value)}:
            if len(text) >= _SHORTEST and text != MASK and text.lower() not in _NO_SECRETS:
                yield text


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _starts(path: Path, one: Path) -> bool:
    return len(path) >= len(one) and all(a in ("*", b) for a, b in zip(one, path, strict=False))
