"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str) -> None:
    """Write `path` (mode 0600) so that whoever reads it, after whatever accident, reads the old text or the new."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_changed(path: Path, text: str) -> bool:
    """As write_whole, but only if the text differs from what is there. True if it was written."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except (OSError, UnicodeDecodeError):
        pass
    write_whole(path, text)
    return True


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`; None if there is no such file. ValueError if it holds anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if not isinstance(found, dict):
        raise ValueError(f"{path} does not hold a JSON object")
    return found
