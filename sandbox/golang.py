"""The Go on PATH: whether there is one, whether it will do, where it keeps its caches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox import pins, versions
from sandbox.errors import NoGoError, NoSpaceError, OldGoError

_WANTED = ".".join(map(str, pins.OLDEST_GO))


@dataclass(frozen=True)
class Go:
    """A usable Go. caches: the folders it fills while building."""

    binary: Path
    version: str
    caches: tuple[Path, ...]


def find(names: str) -> Go:
    """The Go on PATH. NoGoError or OldGoError, both naming the programs (`names`) that it is needed for."""
    found = shutil.which("go")
    if found is None:
        raise NoGoError(
            f"There is no Go on PATH, and {names} must be built.",
            remedy=f"Install Go {_WANTED} or newer, or put these programs on PATH.",
        )
    done = subprocess.run(
        [found, "env", "-json", "GOVERSION", "GOCACHE", "GOMODCACHE"],
        # Outside any module, and without fetching another toolchain: what counts is the Go that is really there.
        cwd="/",
        env=os.environ | {"GOTOOLCHAIN": "local", "GO111MODULE": "on"},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        answer = json.loads(done.stdout)
        version = str(answer["GOVERSION"])
        number = versions.parse(version.removeprefix("go"))
    except (ValueError, KeyError, TypeError):
        answer, version, number = {}, "unknown", None
    if number is None:
        raise NoGoError(
            f"The Go on PATH ({found}) does not say which version it is.",
            remedy=f"Install Go {_WANTED} or newer.",
            evidence=(done.stdout + done.stderr).strip(),
        )
    if number[: len(pins.OLDEST_GO)] < pins.OLDEST_GO:
        raise OldGoError(
            f"The Go on PATH ({found}) is {version}, and {names} must be built.",
            remedy=f"Install Go {_WANTED} or newer and put it first on PATH.",
        )
    caches = tuple(Path(answer[name]) for name in ("GOCACHE", "GOMODCACHE") if answer.get(name))
    return Go(Path(found), version, caches)


def check_space(folders: tuple[Path, ...], gigabytes: float) -> None:
    """NoSpaceError if one of these folders lies on a disk with less than this free. They need not exist yet."""
    for folder in folders:
        standing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(standing).free / 1e9
        if free < gigabytes:
            raise NoSpaceError(
                f"Building needs about {gigabytes:.1f} GB, and {folder} has {free:.1f} GB free.",
                remedy="Free some, or point RINGFENCE_CACHE, GOCACHE and GOMODCACHE at a larger disk.",
            )
