"""What a terminal adds to what a tool prints: colours, titles, bracketed paste; an editor, its mark of UTF-8."""

from __future__ import annotations

import re

# ECMA-48: OSC up to BEL or ST, CSI with any parameters, charsets, and single escapes.
_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()*+][0-9A-Za-z]|\x1b[0-9=>@-Z\\^_a-z]"
)


def printed(text: str) -> str:
    """The text without them, so that what `script` or a terminal kept reads as what was printed."""
    return _CONTROL.sub("", text.removeprefix("\ufeff"))
