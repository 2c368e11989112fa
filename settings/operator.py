"""What the sections of both operators share: where their images come from, what their pods get, who owns the CRD."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from settings.driver import RESERVED, Resources, Toleration
from settings.section import Section, refused
from settings.values import Image, Text
from topology.allocator.quantity import parse

Amounts = Mapping[str, Mapping[str, str]]
CrdStrategy = Literal["own", "skip"]

_HOST = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")


def _mirror(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise refused(
            f"{value!r} is no registry.",
            "Write host, host:port or either with a path, such as registry.example/mirror.",
        )
    return value


def _own(value: str) -> str:
    if value in RESERVED:
        raise refused(
            f"{value} belongs to the cluster, and removing the stack would remove it.",
            "Leave the key out, or give the operator a namespace of its own.",
        )
    return value


RegistryMirror = Annotated[str, AfterValidator(_mirror)]
OwnNamespace = AfterValidator(_own)


def mirrored(image: str, mirror: str | None) -> str:
    """The image at the mirror, which takes the place of the registry's host: quay.io/a/b:1 → mirror.example/a/b:1."""
    return image if mirror is None else f"{mirror}/{image.partition('/')[2]}"


def merged(defaults: Amounts, asked: Resources) -> dict[str, dict[str, str]]:
    """The operator's own requests and limits, with those that were asked for in their place."""
    return {
        "requests": {**defaults["requests"], **asked.requests},
        "limits": {**defaults["limits"], **asked.limits},
    }


def fitting(defaults: Amounts, asked: Resources) -> Resources:
    """The resources that were asked for, unless the pods that result could not be created."""
    whole = merged(defaults, asked)
    for name, amount in whole["requests"].items():
        limit = whole["limits"].get(name)
        if limit is not None and parse(amount) > parse(limit):
            raise refused(
                f"{amount} of {name} would be set aside and no more than {limit} allowed, so no pod could be created.",
                f"Write requests.{name} and limits.{name} together, the limit at least as large.",
            )
    return asked


class OperatorSettings(Section):
    """One operator. Its image is upstream's for the version, at the mirror where there is one."""

    image: Image | None = Field(
        default=None, description="another image than upstream's for this version, best by digest; taken as it is"
    )
    registry_mirror: RegistryMirror | None = Field(
        default=None, description="what stands in for the host of upstream's registry: host, host:port, with a path"
    )
    image_pull_secrets: tuple[Text, ...] = Field(
        default=(), description="names of Secrets in the operator's namespace that open the registry"
    )
    tolerations: tuple[Toleration, ...] = Field(default=(), description="taints of the nodes it may run on")
    crd: CrdStrategy = Field(
        default="own",
        description="own: the stack installs the CRD and keeps it up to date; skip: someone else has",
    )
    protect: bool = Field(
        default=True,
        description="whether pulumi refuses to delete its namespace and its CRD, with all that is in them",
    )
    available_within: int = Field(
        default=300, ge=1, description="seconds that `pulumi up` waits for the operator to be available"
    )
