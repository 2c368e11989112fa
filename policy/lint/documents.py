"""Kubernetes objects from YAML and JSON text, each with the line on which every part of it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from policy.lint import text as texts
from policy.rules.view import Path

_MOST_NODES = 1_000_000
"""Of one document, aliases opened: far beyond any object, and where a file of a few lines can be made to expand to."""

_TEMPLATE = re.compile(r"\{\{-?[^{}]*\}\}|\{\{-?\s*(if|range|with|include|define|end|template)\b")


class Unreadable(ValueError):  # noqa: N818
    """The text cannot be read as objects. The message names the source, the line, the reason and the remedy."""

    def __init__(self, source: str, reason: str, remedy: str, line: int | None = None) -> None:
        self.source = source
        self.line = line
        where = f"{source}:{line}" if line is not None else source
        super().__init__(f"{where}: {reason} {remedy}")


@dataclass(frozen=True)
class Document:
    """One object. source: where it was read, as people name it; lines: path inside the object → line, from 1.

    doubled: keys that stand twice in one mapping: (path, line of the first).
    """

    manifest: Mapping[str, Any]
    source: str
    lines: Mapping[Path, int] = field(default_factory=dict)
    doubled: Sequence[tuple[Path, int]] = ()

    def line(self, path: Path) -> int | None:
        """The line of a part of it, or of what is nearest to where it is missing; None where lines are not known."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


@dataclass(frozen=True)
class _Marks:
    """Of a part of a text: lines by path, and doubled keys; see Document."""

    lines: dict[Path, int] = field(default_factory=dict)
    doubled: list[tuple[Path, int]] = field(default_factory=list)

    def below(self, length: int) -> Mapping[Path, _Marks]:
        """Those of the parts that so many steps lead to, each in its own terms. All at once: lists can be long."""
        found: dict[Path, _Marks] = {}
        for path, line in self.lines.items():
            if len(path) >= length:
                found.setdefault(path[:length], _Marks()).lines[path[length:]] = line
        for path, line in self.doubled:
            if len(path) > length:
                found.setdefault(path[:length], _Marks()).doubled.append((path[length:], line))
        return found


def read(text: str, source: str) -> list[Document]:
    """The objects of a text; documents that are no Kubernetes objects are passed over. Unreadable."""
    found: list[Document] = []
    for data, marks in _documents(text, source):
        if isinstance(data, list):
            # kubectl takes no such file, but tools print lists of objects.
            inner = marks.below(1)
            for index in range(len(data)):
                found += _opened(data[index], source, inner.get((index,), _Marks()))
        else:
            found += _opened(data, source, marks)
    return found


def _opened(data: Any, source: str, marks: _Marks) -> Iterator[Document]:
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        return
    if not isinstance(data.get("apiVersion"), str):
        if "apiVersion" in data or "metadata" not in data:
            return
        line = marks.lines.get(("kind",), marks.lines.get(()))
        raise Unreadable(
            source, f"this {data['kind']} has no apiVersion.", "Write it; kubectl takes none without.", line
        )
    items = data.get("items")
    if data["kind"].endswith("List") and isinstance(items, list):
        # The items of a typed list do not say what they are.
        kind = data["kind"].removesuffix("List")
        said = {"kind": kind, "apiVersion": data["apiVersion"]} if kind else {}
        inner = marks.below(2)
        for index, item in enumerate(items):
            if isinstance(item, Mapping):
                yield from _opened({**said, **item}, source, inner.get(("items", index), _Marks()))
        return
    yield Document(data, source, marks.lines, tuple(marks.doubled))


def _documents(text: str, source: str) -> list[tuple[Any, _Marks]]:
    try:
        return _marked(text, source, texts.FAST)
    except Unreadable:
        raise
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    try:
        return _marked(text, source, texts.SLOW)
    except Unreadable:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        try:
            # YAML does not take every JSON: tabs, say.
            return [(texts.from_json(text), _Marks({(): 1}))]
        except ValueError:
            raise _refused(text, source, error) from None


def _marked(text: str, source: str, loader: Any) -> list[tuple[Any, _Marks]]:
    marked: list[_Marks] = []

    def look(node: yaml.Node) -> None:
        marked.append(_Marks())
        _mark(node, (), source, marked[-1], [0])

    return [(data, marked[-1]) for data in texts.documents(text, loader, look)]


def _refused(text: str, source: str, error: Exception) -> Unreadable:
    template = _TEMPLATE.search(text)
    if template is not None:
        return Unreadable(
            source,
            "it is a template that has not been rendered.",
            "Render it first: `helm template CHART | ringfence claims check -`.",
            text[: template.start()].count("\n") + 1,
        )
    reason, line = texts.reason_of(error)
    return Unreadable(source, f"neither YAML nor JSON: {reason}.", "Correct it there.", line)


def _mark(node: yaml.Node, path: Path, source: str, marks: _Marks, seen: list[int]) -> None:
    seen[0] += 1
    if seen[0] > _MOST_NODES:
        raise Unreadable(source, "its aliases open into more than any object holds.", "Write it out.")
    if not path:
        marks.lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        firsts: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            inner = (*path, name)
            if name in firsts:
                marks.doubled.append((inner, firsts[name]))
            firsts.setdefault(name, line)
            marks.lines[inner] = line
            _mark(value, inner, source, marks, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            marks.lines[(*path, index)] = value.start_mark.line + 1
            _mark(value, (*path, index), source, marks, seen)


def is_template(text: str) -> bool:
    """Whether it has marks of a template language in it, rendered text has none of."""
    return _TEMPLATE.search(text) is not None
