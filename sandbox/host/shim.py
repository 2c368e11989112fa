"""Putting the stand-in on PATH, only where the real language host is missing."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from sandbox import files, places

NAME = "pulumi-language-python"


def real_host(pulumi: Path) -> Path | None:
    """The real language host: on PATH, or beside the pulumi binary, where its own installer puts it."""
    found = shutil.which(NAME)
    if found is not None:
        return Path(found)
    beside = pulumi.resolve().parent / NAME
    return beside if beside.is_file() else None


def write(folder: Path) -> Path:
    """Write the executable `pulumi-language-python` into `folder` and return its path."""
    path = places.private(folder) / NAME
    main = Path(__file__).with_name("__main__.py")
    # By way of sh: a #! line can hold neither long paths nor blanks.
    files.write_changed(path, f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(main))} "$@"\n')
    path.chmod(0o700)
    return path
