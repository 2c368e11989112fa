"""The stack file as pulumi may see it: a copy, so that no run ever rewrites the one in the checkout.

pulumi keeps an encryption salt in the stack file and, where there is none, writes one. In the sandbox the passphrase
is empty and the salt of no interest to anyone, so it lives in the copy only; a salt that is in the project's own file
is kept, and with it whatever secrets were encrypted under it.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from sandbox import files
from sandbox.errors import SandboxError

SALT = "encryptionsalt"


def project_name(project: Path) -> str:
    """The `name` in Pulumi.yaml. SandboxError if there is none."""
    found = _mapping(project / "Pulumi.yaml")
    name = found.get("name")
    if not isinstance(name, str) or not name:
        raise SandboxError(f"{project / 'Pulumi.yaml'} names no project.", remedy="Add a line `name: …` to it.")
    return name


def copy_path(folder: Path, stack: str) -> Path:
    """Where the copy for a stack is."""
    return folder / f"Pulumi.{stack}.yaml"


def refresh(project: Path, folder: Path, stack: str) -> Path:
    """Bring the copy up to date with the project's file, keeping the salt it has. The path of the copy."""
    original, copy = project / f"Pulumi.{stack}.yaml", copy_path(folder, stack)
    text = original.read_text(encoding="utf-8") if original.exists() else ""
    wanted = _mapping(original) if original.exists() else {}
    known = _mapping(copy) if copy.exists() else {}
    if SALT not in wanted and isinstance(known.get(SALT), str):
        text = f"{text.rstrip()}\n{SALT}: {known[SALT]}\n".lstrip()
    files.write_changed(copy, text)
    return copy


def _mapping(path: Path) -> dict[str, object]:
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SandboxError(
            f"{path} cannot be read: {error.strerror}.", remedy="Run this in a Pulumi project."
        ) from error
    except yaml.YAMLError as error:
        raise SandboxError(f"{path} is not YAML: {error}.", remedy="Correct it at the line named here.") from error
    return found if isinstance(found, dict) else {}
