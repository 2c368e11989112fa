"""The context of objects that were seen together: what they say of each other, and the devices among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from policy.rules.context import Allowed, Context
from policy.rules.find import SLICE, is_v1
from policy.rules.fleet import Fleet, dumped
from policy.rules.model import Subject
from settings.capabilities import Capabilities
from topology.allocator import Malformed, Unmodelled
from topology.allocator.reading_slices import read_slice


def surround(
    subjects: Sequence[Subject],
    fleet: Fleet | None = None,
    cluster: Capabilities | None = None,
    allowed: Allowed | None = None,
    namespace: str = "default",
) -> Context:
    """The context. Where no devices are declared, ResourceSlices among the objects are the devices that are known."""
    known = fleet if fleet is not None else Fleet()
    if not known:
        found = _slices(subjects)
        nodes = [dict(one.manifest) for one in subjects if one.kind == "Node" and one.api_version == "v1"]
        if found:
            known = dumped([*found, *nodes], known.profile)
    return Context(tuple(subjects), known, cluster, allowed or Allowed(), namespace)


def _slices(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """Those that can be read; if one cannot, none: devices would be missing without a word."""
    found = []
    for subject in subjects:
        if not is_v1(subject, SLICE):
            continue
        plain = subject.view.plain()
        try:
            read_slice(plain)
        except (Malformed, Unmodelled):
            return []
        found.append({**plain, "apiVersion": "resource.k8s.io/v1"} if plain is not None else {})
    return found if all(found) else []
