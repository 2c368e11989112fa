"""Stack files to read: a right one, and that one with something changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from settings.load import read
from settings.ring import Ring

ROOT = Path(__file__).parents[2]

GOOD: Mapping[str, Any] = {
    "cluster": {"context": "here", "identifier": "here", "version": "1.37"},
    "ring": {
        "servers": ["box16"],
        "namespaces": ["jobs"],
        "driver": {"image": "registry.example/npu:1", "nodeSelector": {"npu": "yes"}},
    },
}
GONE = object()
DIGEST_IMAGE = "registry.example/npu@sha256:" + "0" * 64


def changed(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """With something else at dotted paths: {"ring.driver.image": …}; GONE removes."""
    data = copy.deepcopy(dict(base))
    for path, value in changes.items():
        *steps, last = path.split(".")
        at: Any = data
        for step in steps:
            at = at[step]
        if value is GONE:
            del at[last]
        else:
            at[last] = value
    return data


def stack_file(folder: Path, changes: Mapping[str, Any]) -> Path:
    """Pulumi.test.yaml with GOOD, changed at dotted paths."""
    config = {f"ringfence:{key}": value for key, value in changed(GOOD, changes).items()}
    found = folder / "Pulumi.test.yaml"
    found.write_text(yaml.safe_dump({"config": config}))
    return found


def ring_of(path: Path) -> Ring:
    """The half `ring` of a stack file that has it."""
    ring = read(path).ring
    assert ring is not None
    return ring
