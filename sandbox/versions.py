"""Reading the version of a program that was found on PATH, and judging it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sandbox.pins import Accepted

Version = tuple[int, int, int]


def parse(text: str) -> Version | None:
    """The first thing in `text` that looks like a version: `Kubernetes v1.37.2` → (1, 37, 2); None if there is none."""
    found = re.search(r"(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        return None
    return int(found[1]), int(found[2]), int(found[3] or 0)


def accepts(accepted: Accepted, version: Version) -> bool:
    """Whether a program of this version may be used instead of the pinned one."""
    if version[: len(accepted.oldest)] < accepted.oldest:
        return False
    return accepted.newest is None or version[: len(accepted.newest)] <= accepted.newest


def ask(binary: Path, accepted: Accepted) -> Version | None:
    """The version a binary says it has; None if it cannot be run, says none, or takes longer than 20 s."""
    try:
        done = subprocess.run(
            [binary, *accepted.ask],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(done.stdout + done.stderr) if done.returncode == 0 else None
