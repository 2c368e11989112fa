"""Pages of docs/ of which a part is generated: it lies between two markers, and the text around it is by hand."""

from __future__ import annotations

from pathlib import Path


def put(page: Path, begin: str, end: str, text: str) -> None:
    """The page with the text between its markers, each a line of its own. ValueError where it has none."""
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"it has no {begin.strip()} with a {end.strip()} after it")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
