"""Where things live: the state of a sandbox beside the checkout, what is worth keeping in the user's cache."""

from __future__ import annotations

import os
import re
from pathlib import Path

import platformdirs

from sandbox.errors import SandboxError

CHECKOUT = Path(__file__).resolve().parent.parent
PINS = CHECKOUT / "sandbox" / "toolchain"
SCHEDULER_EXAMPLE = CHECKOUT / "examples" / "scheduler" / "packing.yaml"
"""The scheduler configuration that is shipped; the sandbox's scheduler has its profiles too."""

STATE_VARIABLE = "RINGFENCE_STATE"
CACHE_VARIABLE = "RINGFENCE_CACHE"


def check_name(name: str) -> str:
    """The name itself, if it can be a folder and part of a kubeconfig context. SandboxError otherwise."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name):
        raise SandboxError(
            f"A sandbox cannot be called {name!r}.",
            remedy="Use up to 40 lower-case letters, digits and dashes, with a letter or digit at both ends.",
        )
    return name


def state_root() -> Path:
    """The folder that holds every sandbox of this checkout."""
    chosen = os.environ.get(STATE_VARIABLE)
    return Path(chosen).expanduser().resolve() if chosen else CHECKOUT / ".sandbox"


def state_of(name: str) -> Path:
    """The folder of one sandbox; it may not exist yet."""
    return state_root() / check_name(name)


def names() -> list[str]:
    """The sandboxes of this checkout that have a folder, by name."""
    root = state_root()
    return sorted(folder.name for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []


def cache_root() -> Path:
    """The folder of what outlives a sandbox: built programs, their logs, plugins, locks."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().resolve()
    return platformdirs.user_cache_path("ringfence") / "toolchain"


def private(folder: Path) -> Path:
    """Make `folder` (mode 0700: keys live in some of them) and return it. SandboxError if that is impossible."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise SandboxError(
            f"The folder {folder} cannot be made: {error.strerror}.",
            remedy=f"Make room for it, or set {STATE_VARIABLE} and {CACHE_VARIABLE} to folders you may write.",
        ) from error
    return folder
