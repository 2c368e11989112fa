"""Reading an object without tripping: what is missing, null or of another type reads as nothing; unknowns are noted.

In a preview some values are not known yet. A rule that reads one goes on with the rest, and whoever runs the rule is
told which value it would have needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Step = str | int
Path = tuple[Step, ...]


class Unknown:
    """The type of UNKNOWN."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
"""Stands for a value that is not known yet; never equal to one that is."""


@dataclass(frozen=True)
class View:
    """A value and its path inside the object. unknowns: paths that were needed and are not known yet."""

    value: Any
    path: Path = ()
    unknowns: list[Path] = field(default_factory=list)

    def at(self, *steps: Step) -> View:
        """What is there; nothing where something on the way is missing."""
        here = self.value
        for step in steps:
            if here is UNKNOWN:
                break
            if isinstance(here, Mapping) and isinstance(step, str):
                here = here.get(step)
            elif isinstance(here, list) and isinstance(step, int) and 0 <= step < len(here):
                here = here[step]
            else:
                here = None
        return View(here, (*self.path, *steps), self.unknowns)

    def known(self) -> bool:
        """Whether it is known what it is, if only that it is missing."""
        self._note()
        return self.value is not UNKNOWN

    @property
    def absent(self) -> bool:
        """Whether it is missing or null; an unknown value is there, whatever it will be."""
        self._note()
        return self.value is None

    def text(self) -> str | None:
        self._note()
        return self.value if isinstance(self.value, str) else None

    def number(self) -> int | None:
        self._note()
        return self.value if isinstance(self.value, int) and not isinstance(self.value, bool) else None

    def flag(self) -> bool:
        """Whether it is true. Anything else is not."""
        self._note()
        return self.value is True

    def items(self) -> list[View]:
        """The elements of a list."""
        self._note()
        return [self.at(index) for index in range(len(self.value))] if isinstance(self.value, list) else []

    def entries(self) -> list[tuple[str, View]]:
        """The keys of a mapping that are text, each with its value."""
        self._note()
        found = self.value if isinstance(self.value, Mapping) else {}
        return [(key, self.at(key)) for key in found if isinstance(key, str)]

    def strings(self) -> Mapping[str, str]:
        """A mapping of texts, such as labels; values of other types are left out."""
        return {key: text for key, view in self.entries() if (text := view.text()) is not None}

    def plain(self) -> Any:
        """The whole value, or None where any part of it is unknown."""
        missing = list(_unknowns(self.value, self.path))
        self.unknowns.extend(missing)
        return None if missing else self.value

    def plain_known(self) -> bool:
        """Whether nothing in it is unknown."""
        before = len(self.unknowns)
        self.plain()
        return len(self.unknowns) == before

    def _note(self) -> None:
        if self.value is UNKNOWN:
            self.unknowns.append(self.path)


def _unknowns(value: Any, path: Path) -> Iterator[Path]:
    if value is UNKNOWN:
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unknowns(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unknowns(inner, (*path, index))


def dotted(path: Path) -> str:
    """A path as people write it: spec.devices.requests[0].name."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
