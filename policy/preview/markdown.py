"""Markdown as GitHub and GitLab read it. Words of others stay words: no markup, no mention, no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def plain(text: str) -> str:
    """Words of others in running text, on one line."""
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_{}\[\]|#~$!])", r"\\\1", text)
    # A mention or a link would call people, and other issues, into this one.
    return re.sub(r"(@|://|(?<=\bwww)\.)", r"\1<!-- -->", text)


def code(text: str, most: int = 160) -> str:
    """A value or a name, in a span of code that it cannot end."""
    text = " ".join(text.split()) or " "
    if len(text) > most:
        text = text[: most - 1] + "…"
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def block(text: str) -> str:
    """Lines of code."""
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def details(summary: str, body: str) -> str:
    """What opens on a click. The summary is made by us, without markup."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Cells are Markdown already. right: columns of numbers."""
    # A pipe ends a cell, even in code, unless an odd number of backslashes is before it; elsewhere in code
    # a backslash would be shown.
    escaped = [
        [re.sub(r"(\\*)\|", lambda found: found[0] if len(found[1]) % 2 else f"{found[1]}\\|", cell) for cell in row]
        for row in rows
    ]
    rule = ["--:" if index in right else "---" for index in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [list(head), rule, *escaped])


def counted(number: int, noun: str) -> str:
    """ "1 host", "2 hosts", "3 classes"; of kinds, whose names are one word: "2 DeviceClasses", "2 ResourceQuotas"."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{number} {noun}es"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}s"
