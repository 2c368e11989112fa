"""The one way in which this room refuses its input."""

from __future__ import annotations


class TopologyError(ValueError):
    """Text or data that cannot be trusted. The message names the line, the reason and the remedy.

    `line` is the line of the text it was found on, counted from 1; None where it concerns the text as a whole.
    """

    def __init__(self, reason: str, *, remedy: str, line: int | None = None) -> None:
        self.reason = reason
        self.remedy = remedy
        self.line = line
        where = f"line {line}: " if line is not None else ""
        super().__init__(f"{where}{reason} {remedy}")
