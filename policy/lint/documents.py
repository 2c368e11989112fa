"""Kubernetes objects from YAML and JSON text, each with the line on which every part of it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

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
    """One object. source: where it was read, as people name it; lines: path inside the object → line, from 1."""

    manifest: Mapping[str, Any]
    source: str
    lines: Mapping[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of a part of it, or of what is nearest to where it is missing; None where lines are not known."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


def read(text: str, source: str) -> list[Document]:
    """The objects of a text; documents that are no Kubernetes objects are passed over. Unreadable."""
    found: list[Document] = []
    for data, lines in _documents(text, source):
        if isinstance(data, list):
            # kubectl takes no such file, but tools print lists of objects.
            for index in range(len(data)):
                found += _opened(data[index], source, _below(lines, (index,)))
        else:
            found += _opened(data, source, lines)
    return found


def _opened(data: Any, source: str, lines: Mapping[Path, int]) -> Iterator[Document]:
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        return
    if not isinstance(data.get("apiVersion"), str):
        if "apiVersion" in data or "metadata" not in data:
            return
        line = lines.get(("kind",), lines.get(()))
        raise Unreadable(
            source, f"this {data['kind']} has no apiVersion.", "Write it; kubectl takes none without.", line
        )
    items = data.get("items")
    if data["kind"].endswith("List") and isinstance(items, list):
        # The items of a typed list do not say what they are.
        kind = data["kind"].removesuffix("List")
        said = {"kind": kind, "apiVersion": data["apiVersion"]} if kind else {}
        for index, item in enumerate(items):
            if isinstance(item, Mapping):
                yield from _opened({**said, **item}, source, _below(lines, ("items", index)))
        return
    yield Document(data, source, lines)


def _below(lines: Mapping[Path, int], prefix: Path) -> Mapping[Path, int]:
    length = len(prefix)
    return {path[length:]: line for path, line in lines.items() if path[:length] == prefix}


def _documents(text: str, source: str) -> Iterator[tuple[Any, Mapping[Path, int]]]:
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            lines = dict(_lines(node, (), source, [0])) if node is not None else {}
            yield loader.construct_document(node), lines
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        try:
            # YAML does not take every JSON: tabs, say.
            yield json.loads(text), {(): 1}
        except ValueError:
            raise _refused(text, source, error) from None
    finally:
        loader.dispose()


def _refused(text: str, source: str, error: Exception) -> Unreadable:
    template = _TEMPLATE.search(text)
    if template is not None:
        return Unreadable(
            source,
            "it is a template that has not been rendered.",
            "Render it first: `helm template CHART | ringfence claims check -`.",
            text[: template.start()].count("\n") + 1,
        )
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__
    return Unreadable(
        source, f"neither YAML nor JSON: {reason}.", "Correct it there.", mark.line + 1 if mark is not None else None
    )


def _lines(node: yaml.Node, path: Path, source: str, seen: list[int]) -> Iterator[tuple[Path, int]]:
    seen[0] += 1
    if seen[0] > _MOST_NODES:
        raise Unreadable(source, "its aliases open into more than any object holds.", "Write it out.")
    if not path:
        yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, str(key.value))
            yield inner, key.start_mark.line + 1
            yield from _lines(value, inner, source, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            inner = (*path, index)
            yield inner, value.start_mark.line + 1
            yield from _lines(value, inner, source, seen)


def is_template(text: str) -> bool:
    """Whether it has marks of a template language in it, rendered text has none of."""
    return _TEMPLATE.search(text) is not None
