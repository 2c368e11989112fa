"""The one way in which this room refuses its input."""

from __future__ import annotations


class TopologyError(ValueError):
    """Text or data that cannot be trusted. The message names the line, the reason and the remedy.

    `line` is the line of the text it was found on, counted from 1; None where it concerns the text as a whole.
    `source` names the text where there are several, e.g. "info.txt".
    """

    def __init__(self, reason: str, *, remedy: str, line: int | None = None, source: str | None = None) -> None:
        self.reason = reason
        self.remedy = remedy
        self.line = line
        self.source = source
        where = ", ".join(filter(None, [source, f"line {line}" if line is not None else None]))
        super().__init__(f"{where}: {reason} {remedy}" if where else f"{reason} {remedy}")

    def found_in(self, source: str) -> TopologyError:
        """The same, with the text it was found in."""
        return TopologyError(self.reason, remedy=self.remedy, line=self.line, source=source)
