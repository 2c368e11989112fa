"""Words that several rules use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

_ALIKE = 0.8
_DIGITS, _DOTS = re.compile(r"\d+"), re.compile(r"[./]")


def listed(words: Iterable[str], most: int = 4) -> str:
    """a, b and c; the first few where there are many."""
    found = list(words)
    if len(found) > most:
        return f"{', '.join(found[:most])} and {len(found) - most} more"
    return " and ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))


def several(number: int, noun: str, plural: str | None = None) -> str:
    """1 device, 2 devices."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def shortened(text: str, most: int = 80) -> str:
    """On one line, and not longer than a line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def close(name: str, known: Sequence[str], *, all_known: bool = False) -> str | None:
    """The name that was probably meant, by a slip of the pen: each part that differs is nearly the same.

    Another number is another thing and no slip, unless all_known says that there are no others: gpu-1 and gpu-2; and so
    is another short word before the same domain: gpu.nvidia.com and mig.nvidia.com.
    """
    found = [
        (likeness, one)
        for one in known
        if (likeness := _likeness(name, one)) is not None and (all_known or not _numbered_otherwise(name, one))
    ]
    return max(found)[1] if found else None


def _likeness(one: str, other: str) -> float | None:
    """From 0 to 1, None where they are not alike."""
    parts = list(zip(_DOTS.split(one), _DOTS.split(other), strict=False))
    same_shape = len(_DOTS.split(one)) == len(_DOTS.split(other)) > 1
    if same_shape and any(_ratio(a, b) < _ALIKE for a, b in parts if a != b):
        return None
    whole = _ratio(one, other)
    return whole if whole >= _ALIKE else None


def _numbered_otherwise(one: str, other: str) -> bool:
    numbers = [[int(each) for each in _DIGITS.findall(name)] for name in (one, other)]
    return _DIGITS.sub("0", one) == _DIGITS.sub("0", other) and numbers[0] != numbers[1]


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
