"""Objects with a part replaced by something odd, as people and broken tools write them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

ODD: list[Any] = [None, 3, -1, 1.5, float("nan"), float("inf"), True, "", "x", "a/b", "\0", "{{", [], {}, [None], [[]]]
ODD += [{"": None}, {1: 2}, [{}], ["x"], {"a": {"b": [1]}}, 10**30, b"x"]


def mutated(objects: list[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """The same with one to three parts replaced, never what says of which kind they are."""
    made = copy.deepcopy(objects)
    for _ in range(random.choice((1, 1, 2, 3))):
        here: Any = random.choice(made)
        parts = [path for path in _paths(here) if path and path not in (("kind",), ("apiVersion",))]
        if not parts:
            continue
        *way, last = random.choice(parts)
        for step in way:
            here = here[step]
        here[last] = copy.deepcopy(random.choice(ODD))
    return made


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from _paths(value[index], (*path, index))
