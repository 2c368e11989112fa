"""`ringfence:fence.artifacts`: what is built by the stack itself, where, and from which commits.

openFuyao's own build scripts (oFEP-0031, build/kunpeng) are not known here, so commands are written in the stack file.
The one that is known is the step `kdeploy` of the build tool in virtCCA_sdk (kata-v3.15.0/tools/build.sh): Kata's
tarball and the payload image with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from settings.preflight import SshHost
from settings.section import Section, refused
from settings.values import HostPath, Text

SDK = "virtccaSdk"
"""The name of the source that the known step needs."""

PAYLOAD = "payload"
"""The name of the image that it makes."""


def _commit(value: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", value):
        raise refused(f"{value!r} is no whole commit.", "Write all 40 digits of it, as git rev-parse prints them.")
    return value


def _inside(value: str) -> str:
    if value.startswith("/") or ".." in value.split("/") or not value.strip():
        raise refused(
            f"{value!r} leaves the build's folder.", "Write a path from there, without .. and / at its start."
        )
    return value


def _registry(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9._/-]*[a-z0-9])?", value):
        raise refused(f"{value!r} is no registry.", "Write host[:port][/path], without https:// and / at its end.")
    return value


def _reference(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._/-]*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", value):
        raise refused(f"{value!r} is no image below the registry.", "Write repository:tag, without the registry.")
    return value


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,40}", value):
        raise refused(f"{value!r} cannot be a name.", "Use letters, digits, - and _, with a letter first.")
    return value


Name = Annotated[str, AfterValidator(_name)]
Inside = Annotated[str, AfterValidator(_inside)]


def _url(value: str) -> str:
    if re.search(r"://[^/@]*:[^/@]*@", value):
        raise refused(
            "has a password in it, which is not repeated here.",
            "Take it for known; write the address without it, and let git on the builder have its own credentials.",
        )
    return value


class SourceSettings(Section):
    """A git repository, always at one commit."""

    url: Annotated[Text, AfterValidator(_url)] = Field(description="where the builder fetches it from")
    commit: Annotated[str, AfterValidator(_commit)] = Field(description="the commit, all 40 digits of it")


class ProductSettings(Section):
    """A file that has to come out."""

    path: Inside = Field(description="where the command leaves it, from the build's folder")
    contains: tuple[Text, ...] = Field(default=(), description="ends of names that must be in it, for a tarball")


class BuildSettings(Section):
    """Either a step that is known, or a command."""

    step: Literal["kdeploy"] | None = Field(
        default=None, description="kdeploy, the step of virtCCA_sdk's build tool that makes Kata's tarball and payload"
    )
    command: Text | None = Field(
        default=None, description="for sh on the builder, with $SOURCES, $REGISTRY and $IMAGE_<NAME> of each image"
    )
    files: tuple[ProductSettings, ...] = Field(default=(), description="the files that have to come out")
    images: dict[Name, Annotated[str, AfterValidator(_reference)]] = Field(
        default_factory=dict, description="the images that it pushes: a name → repository:tag below the registry"
    )
    commits: dict[Inside, str] = Field(
        default_factory=dict,
        description="folders that the command fetches itself → the source whose commit they must be",
    )
    patched: tuple[Inside, ...] = Field(
        default=(), description="folders in which no patch may have been rejected (no *.rej)"
    )

    @model_validator(mode="after")
    def _one(self) -> BuildSettings:
        if (self.step is None) == (self.command is None):
            raise refused("a build is a step or a command.", "Write step: kdeploy, or command.")
        if self.step is not None and set(self.images) != {PAYLOAD}:
            raise refused(f"kdeploy makes one image, and it is called {PAYLOAD}.", "Write images: {payload: name:tag}.")
        if not self.files and not self.images and self.step is None:
            raise refused("nothing has to come out of it.", "Name what does, in files or images.")
        return self


class Artifacts(Section):
    """Without the section, nothing is built: images are those that the other sections name."""

    folder: HostPath = Field(description="the builder's folder for sources, builds and logs; it stays")
    registry: Annotated[str, AfterValidator(_registry)] = Field(
        description="where images are pushed, host[:port][/path]; the builder has to be logged in there"
    )
    sources: dict[Name, SourceSettings] = Field(description="what is built from: a name → url and commit")
    builds: dict[Name, BuildSettings] = Field(description="what is built, in this order: a name → how")
    builder: SshHost | None = Field(default=None, description="the host that builds; without it, this machine")
    timeout: int = Field(default=6 * 3600, ge=60, description="seconds that a build may take")

    @model_validator(mode="after")
    def _whole(self) -> Artifacts:
        if not self.builds:
            raise refused("builds is empty.", "Name a build, or remove the section.")
        for name, build in self.builds.items():
            wanted = {*build.commits.values(), *([SDK] if build.step is not None else [])}
            missing = sorted(wanted - set(self.sources))
            if missing:
                raise refused(f"build {name} needs the source {missing[0]}.", f"Add sources.{missing[0]}.")
        return self

    def secret_names(self) -> Iterator[str]:
        """Of the secrets that it names."""
        if self.builder is not None:
            yield self.builder.private_key
