"""What holds for the project as a whole."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_installed() -> None:
    """A list by hand, since the folders beside the rooms are none of them; what it lacks would be missing for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rooms = project["tool"]["importlinter"]["root_packages"]
    found = {
        ".".join(path.parent.relative_to(ROOT).parts) for room in rooms for path in (ROOT / room).rglob("__init__.py")
    }
    assert set(project["tool"]["setuptools"]["packages"]) == found
