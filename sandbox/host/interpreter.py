"""Which Python runs a program, by the rules of the real language host."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


class NoInterpreterError(Exception):
    """There is no Python where the options say it is; the message says where that was."""


def choose(options: Mapping[str, object], root: Path, environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The interpreter and the environment for it.

    options: `runtime.options` of Pulumi.yaml or PulumiPolicy.yaml, whose folder is `root`. `virtualenv` is relative to
    it; without it, PULUMI_PYTHON_CMD, python3 or python from PATH.
    """
    variables = dict(environment)
    virtualenv = options.get("virtualenv")
    if not virtualenv:
        for name in [variables["PULUMI_PYTHON_CMD"]] if variables.get("PULUMI_PYTHON_CMD") else ["python3", "python"]:
            found = shutil.which(name, path=variables.get("PATH"))
            if found is not None:
                return found, variables
        raise NoInterpreterError("There is no Python on PATH, and Pulumi.yaml names no virtualenv.")
    place = root / str(virtualenv)
    python = place / "bin" / "python"
    if not python.is_file():
        raise NoInterpreterError(
            f"The virtualenv option is {virtualenv!r}, but {place} is not a virtual environment. "
            "Create it there and install the requirements into it."
        )
    variables.pop("PYTHONHOME", None)
    variables["VIRTUAL_ENV"] = str(place)
    variables["PATH"] = os.pathsep.join(filter(None, [str(place / "bin"), variables.get("PATH")]))
    return str(python), variables
