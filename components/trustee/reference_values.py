"""reference-values.json, in the form that the version of Trustee reads; in any other, its entries are of no use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from settings.trustee import Version, plain_reference_values


@dataclass(frozen=True, kw_only=True)
class Reference:
    """name: dotted, as in the claims, e.g. "virtcca.realm.rim". values: any of them is right.

    expiration: "2027-01-31T00:00:00Z". The RVPS drops what has expired with no more than a line in its log.
    algorithm: of the digests; only Trustee up to 0.13 keeps it.
    """

    name: str
    values: tuple[str, ...]
    expiration: str
    algorithm: str = "sha256"


def reference_values(references: Sequence[Reference], version: Version) -> str:
    """The text of reference-values.json. ValueError where a name is there twice: only the last would count."""
    names = [reference.name for reference in references]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two entries have the same name: {', '.join(twice)}")
    return json.dumps([_entry(reference, version) for reference in references], indent=2) + "\n"


def _entry(reference: Reference, version: Version) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": reference.name, "expiration": reference.expiration}
    if plain_reference_values(version):
        return entry | {"value": list(reference.values)}
    return entry | {"hash-value": [{"alg": reference.algorithm, "value": value} for value in reference.values]}
