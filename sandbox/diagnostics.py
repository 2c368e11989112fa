"""What pulumi said went wrong, out of all that it said."""

from __future__ import annotations


def of(said: str) -> list[str]:
    """The lines of the diagnostics; all lines where there are none, for instance before pulumi has begun."""
    lines = [line for line in said.strip().splitlines() if " from $PATH at " not in line]
    if "Diagnostics:" not in lines:
        return lines
    rest = lines[lines.index("Diagnostics:") + 1 :]
    # What the program exports may be long, and comes after.
    ends = [index for index, line in enumerate(rest) if line in {"Outputs:", "Resources:"}]
    return rest[: ends[0]] if ends else rest
