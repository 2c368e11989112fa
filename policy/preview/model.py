"""A preview as plain data: the values that `shown` knows as harmless, and of the others whether they differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policy.preview.shown import Path


class Op(StrEnum):
    """What happens to an object, in the order in which a report tells it."""

    REPLACE = "replace"
    DELETE = "delete"
    UPDATE = "update"
    CREATE = "create"
    SAME = "same"


class Level(StrEnum):
    """How much a rule's finding weighs. UNDECIDED: the rule met a value that is known only after `up`."""

    MANDATORY = "mandatory"
    ADVISORY = "advisory"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Difference:
    """One field. path: keys, and list items by number. old, new: None where it is not there."""

    path: Path
    old: Any
    new: Any

    @property
    def field(self) -> str:
        """As pulumi writes paths: spec.containers[0].image, metadata.labels["a/b"]."""
        text = ""
        for step in self.path:
            if step.isdigit():
                text += f"[{step}]"
            elif "." in step or "/" in step:
                text += f'["{step}"]'
            else:
                text += f".{step}" if text else step
        return text


@dataclass(frozen=True)
class Change:
    """What happens to one object.

    kind: Kubernetes' word, "Provider" for a provider. api: group/version. old, new: its inputs on either side, {} where
    there are none. told: the differing fields, from the inputs and from what the provider says. protected: pulumi
    refuses to delete it. retained: it stays in the cluster when pulumi lets go of it. nodes: how many a CcRuntime
    counted when its state was last read, None where it is not known. provider: the URN of the provider.
    """

    op: Op
    urn: str
    kind: str
    api: str
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    told: tuple[Difference, ...] = ()
    protected: bool = False
    retained: bool = False
    nodes: int | None = None
    provider: str = ""

    @property
    def logical(self) -> str:
        """Its name in the program."""
        return self.urn.rpartition("::")[2]

    def name(self, *, before: bool = False) -> str:
        """namespace/name of the object, from its inputs: in the preview of a replacement the provider invents outputs.

        Without a name of its own it is the program's.
        """
        side = self.old if (before and self.old) or not self.new else self.new
        found, namespace = at(side, "metadata", "name"), at(side, "metadata", "namespace")
        if not isinstance(found, str):
            return self.logical
        return f"{namespace}/{found}" if isinstance(namespace, str) else found

    def label(self, key: str, *, before: bool = False) -> str | None:
        """A label of the object."""
        found = at(self.old if before else self.new, "metadata", "labels", key)
        return found if isinstance(found, str) else None

    def differs(self, *path: str) -> bool:
        """Whether anything at or below the path differs."""
        return any(difference.path[: len(path)] == path for difference in self.told)


@dataclass(frozen=True)
class Finding:
    """What a rule of a policy pack says. about: the name of what it is about, empty for the stack as a whole."""

    level: Level
    pack: str
    rule: str
    about: str
    message: str


@dataclass(frozen=True)
class Preview:
    """changes: every object that is told of, the unchanged ones too where pulumi names them. packs: the policy packs
    that ran, None where this form of pulumi's JSON does not say. errors, warnings: pulumi's, without secrets."""

    changes: tuple[Change, ...]
    findings: tuple[Finding, ...] = ()
    packs: tuple[str, ...] | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def of(self, *ops: Op) -> list[Change]:
        """The changes of these kinds."""
        return [change for change in self.changes if change.op in ops]

    @property
    def failed(self) -> bool:
        return bool(self.errors) or any(finding.level is Level.MANDATORY for finding in self.findings)


def natural(name: str) -> list[tuple[int, str]]:
    """A key by which box16-2 comes before box16-10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", name)]


def at(value: Any, *path: str) -> Any:
    """What is at the path, None where nothing is."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def differences(old: Any, new: Any, path: Path = ()) -> Iterator[Difference]:
    """The fields that differ, the deepest that tell it, in the order of their paths."""
    # Down to the fields also where all of a mapping comes or goes: what an annotation means is told by its key.
    if isinstance(old, Mapping) and new is None:
        new = {}
    if isinstance(new, Mapping) and old is None:
        old = {}
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            sides = [side[index] if index < len(side) else None for side in (old, new)]
            yield from differences(sides[0], sides[1], (*path, str(index)))
    elif old != new:
        yield Difference(path, old, new)
