"""Builds as data, the shell scripts that run them, and what these print, read back.

On the builder all is below one folder: `sources/NAME` at its commit, `builds/NAME` where a build's command runs,
`logs/NAME.log` with all it said. The scripts print one line for each thing that came out, and nothing else.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

STEPS = Path(__file__).with_name("steps.sh")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A git repository at a commit, all 40 digits of it."""

    url: str
    commit: str


@dataclass(frozen=True, kw_only=True)
class Product:
    """A file that a build has to leave. path: from the build's folder. contains: ends of names in it, for a tarball."""

    path: str
    contains: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Build:
    """command: for sh, in the build's folder, with $SOURCES, $REGISTRY and an $IMAGE_<NAME> for each image.

    files: what it leaves. images: name → repository:tag below the registry, pushed by the command. commits: folder →
    name of the source at whose commit it has to be, for a command that fetches by itself. patched: folders in which no
    patch may have been rejected, for a command that goes on after one.
    """

    command: str
    files: Sequence[Product] = ()
    images: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)
    patched: Sequence[str] = ()


@dataclass(frozen=True)
class CameOut:
    """files: path → SHA-256. images: name → reference by digest."""

    files: Mapping[str, str]
    images: Mapping[str, str]


def sources_script(folder: str, sources: Mapping[str, Source]) -> str:
    """Checks every source out at its commit and says so."""
    lines = [_steps(), f"mkdir -p {_q(folder)}/sources"]
    for name, source in sorted(sources.items()):
        lines.append(f"checkout {_q(name)} {_q(f'{folder}/sources/{name}')} {_q(source.url)} {source.commit}")
    return "\n".join([*lines, ""])


def build_script(folder: str, registry: str, name: str, build: Build, sources: Mapping[str, Source]) -> str:
    """Runs the build and checks what came out."""
    log = f"{folder}/logs/{name}.log"
    variables = {"SOURCES": f"{folder}/sources", "REGISTRY": registry}
    variables |= {variable(image): f"{registry}/{reference}" for image, reference in build.images.items()}
    lines = [_steps(), *(f"export {key}={_q(value)}" for key, value in sorted(variables.items()))]
    lines += [f"mkdir -p {_q(f'{folder}/builds/{name}')} {_q(f'{folder}/logs')}", f"cd {_q(f'{folder}/builds/{name}')}"]
    lines.append(f"build {_q(name)} {_q(log)} {_q(build.command)}")
    lines += [f"at_commit {_q(path)} {sources[source].commit}" for path, source in sorted(build.commits.items())]
    lines += [f"unrejected {_q(path)}" for path in build.patched]
    for product in build.files:
        lines.append(f"product {_q(product.path)} {' '.join(map(_q, product.contains))}".rstrip())
    lines += [
        f"pushed {_q(image)} {_q(f'{registry}/{reference}')}" for image, reference in sorted(build.images.items())
    ]
    return "\n".join([*lines, ""])


def variable(image: str) -> str:
    """The environment variable in which a command finds the name of an image: "payload" → "IMAGE_PAYLOAD"."""
    return "IMAGE_" + re.sub(r"\W", "_", image).upper()


def came_out(said: str) -> CameOut:
    """Of what a build's script printed."""
    files: dict[str, str] = {}
    images: dict[str, str] = {}
    for line in said.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "file":
            digest, _, path = rest.partition(" ")
            files[path] = digest
        elif kind == "image":
            name, _, reference = rest.partition(" ")
            images[name] = reference
    return CameOut(files, images)


@cache
def _steps() -> str:
    return STEPS.read_text(encoding="utf-8")


def _q(text: str) -> str:
    return shlex.quote(text)
