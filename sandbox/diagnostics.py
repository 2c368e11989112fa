"""What pulumi said went wrong, out of all that it said."""

from __future__ import annotations

_TELLING = {"Diagnostics:", "Policies:"}


def of(said: str) -> list[str]:
    """The lines under those headings, of the preview and of what followed it; all lines where there are none yet."""
    lines = [line for line in said.strip().splitlines() if " from $PATH at " not in line]
    found: list[str] = []
    inside = False
    for line in lines:
        if line in _TELLING:
            inside = True
        elif inside and line and not line.startswith(" "):
            # What the program exports, the summary, or the next phase.
            inside = False
        elif inside:
            found.append(line)
    return found or lines
