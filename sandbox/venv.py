"""Makes `.venv` from requirements.lock, once for each lock. Standard library only: nothing is installed yet.

Two runs at a time take turns; a run that was killed half way leaves no stamp, so the next one starts over.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
STAMP = VENV / "made-from"
NEEDED = (3, 11)


def main() -> int:
    if sys.version_info < NEEDED:
        found = ".".join(map(str, sys.version_info[:3]))
        print(
            f"ringfence: this is Python {found}; 3.11 or newer is needed. Name one: make PYTHON=python3.12",
            file=sys.stderr,
        )
        return 2
    wanted = _fingerprint()
    if _made_from() == wanted:
        return 0
    with _turn():
        if _made_from() == wanted:
            return 0
        print("Installing the pinned Python packages into .venv (about a minute, once)", file=sys.stderr)
        return _make(wanted)


def _fingerprint() -> str:
    digest = hashlib.sha256(f"{ROOT} {sys.version_info[:2]} {sys.base_prefix}".encode())
    for name in ("requirements.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _made_from() -> str | None:
    # A moved or copied checkout has scripts that point elsewhere; the root is part of the fingerprint for that.
    try:
        return STAMP.read_text()
    except OSError:
        return None


def _make(wanted: str) -> int:
    shutil.rmtree(VENV, ignore_errors=True)
    python = VENV / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    steps = (
        [sys.executable, "-m", "venv", VENV],
        [*pip, "--require-hashes", "-r", ROOT / "requirements.lock"],
        [*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT],
    )
    for step in steps:
        done = subprocess.run([str(word) for word in step], check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            said = (
                "Python's venv module is missing (Debian: apt install python3-venv)"
                if step is steps[0]
                else "see above"
            )
            print(f"ringfence: .venv could not be made: {said}. Repair that and run the same again.", file=sys.stderr)
            return 1
    STAMP.write_text(wanted)
    return 0


@contextmanager
def _turn() -> Iterator[None]:
    """One at a time. The lock ends with the process, however that ends."""
    with (ROOT / ".venv.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("Waiting for another run that is installing into .venv", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nringfence: stopped; nothing half-made is used. Run the same again to go on.", file=sys.stderr)
        sys.exit(130)
