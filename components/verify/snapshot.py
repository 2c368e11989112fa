"""What was read of one cluster at one moment, as in the API's JSON. It holds Secrets, so it does not show itself."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Object = Mapping[str, Any]
Key = tuple[str, str]
"""Kind and namespace, "" for what is in none or for all of them."""


@dataclass(frozen=True)
class Hidden:
    """Could not be read. why: the API server's answer."""

    why: str


class HiddenError(Exception):
    """Something was asked for that could not be read."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why = what, why


@dataclass(frozen=True)
class Snapshot:
    """version: of Kubernetes, such as v1.37.2. A kind that is not served has no objects."""

    version: str
    lists: Mapping[Key, Sequence[Object] | Hidden] = field(repr=False)

    def all(self, kind: str, namespace: str = "") -> Sequence[Object]:
        """HiddenError where it could not be read."""
        found = self.lists.get((kind, namespace), ())
        if isinstance(found, Hidden):
            raise HiddenError(f"{kind}{f' of {namespace}' if namespace else ''}", found.why)
        return found

    def one(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """None if there is none of that name."""
        return next((found for found in self.all(kind, namespace) if found["metadata"]["name"] == name), None)


def files_of(thing: Object) -> dict[str, bytes]:
    """The content of a ConfigMap or Secret, which may be secret: to be compared and measured, not to be shown."""
    found = {key: str(text).encode() for key, text in (thing.get("data") or {}).items()}
    if thing.get("kind") == "Secret":
        return {key: base64.b64decode(text) for key, text in found.items()}
    return found | {key: base64.b64decode(text) for key, text in (thing.get("binaryData") or {}).items()}
