"""Bytes and YAML as kubectl reads them: encodings with their marks, and scalars by the rules of Go's YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

TOO_DEEP = "it is nested deeper than any object"

# What PyYAML makes of YAML 1.1 and Go does not (sigs.k8s.io/yaml, goyaml.v2/resolve.go): 1:30 as a number to base 60,
# which PCI addresses look like, dates, and a lone = as a tag of its own, which CustomResourceDefinitions have.
_PYTHON_ONLY = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp", "value")}
_INT = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


def decoded(data: bytes) -> str:
    """UTF-8, or UTF-16 where a mark says so, as PowerShell writes it. UnicodeDecodeError."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    return data.decode("utf-8-sig")


def _float(loader: Any, node: Any) -> Any:
    value = yaml.constructor.SafeConstructor.construct_yaml_float(loader, node)
    # To JSON, 4.0 and 4 are the same number.
    return int(value) if value.is_integer() else value


def _as_go_reads(base: Any) -> Any:
    made: Any = type(f"Kubernetes{base.__name__}", (base,), {})
    made.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag not in _PYTHON_ONLY]
        for first, found in base.yaml_implicit_resolvers.items()
    }
    for tag, pattern in (("int", _INT), ("float", _FLOAT)):
        whole = re.compile(rf"^(?:{pattern.pattern})$")
        made.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", whole, list("-+.0123456789"))
    made.add_constructor("tag:yaml.org,2002:float", _float)
    return made


SLOW: Any = _as_go_reads(yaml.SafeLoader)
"""Tells best where something is wrong."""

FAST: Any = _as_go_reads(getattr(yaml, "CSafeLoader", yaml.SafeLoader))
"""For dumps of a whole cluster, which are large."""


def documents(text: str, loader: Any, look: Callable[[Any], object] = id) -> Iterator[Any]:
    """The data of each document. look: is shown its node before, as it is written: merged keys are not in it yet.

    yaml.YAMLError, ValueError or RecursionError for what is no YAML.
    """
    made = loader(text)
    try:
        while made.check_node():
            node = made.get_node()
            look(node)
            yield made.construct_document(node)
    finally:
        made.dispose()


def from_json(text: str) -> Any:
    """ValueError for what is no JSON, or deeper than can be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def reason_of(error: Exception) -> tuple[str, int | None]:
    """What is wrong with a text, and on which line if that is known."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else None
    if isinstance(error, RecursionError):
        return TOO_DEEP, line
    problem = getattr(error, "problem", None)
    if isinstance(error, yaml.reader.ReaderError):
        problem = f"the character U+{ord(error.character) if isinstance(error.character, str) else error.character:04X}"
        return f"{problem} is not allowed", line
    return problem or str(error).partition("\n")[0] or type(error).__name__, line
