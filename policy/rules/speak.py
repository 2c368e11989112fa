"""Words that several rules use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


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


def close(name: str, known: Sequence[str]) -> str | None:
    """The name that was probably meant."""
    found = get_close_matches(name, known, n=1, cutoff=0.8)
    return found[0] if found else None
