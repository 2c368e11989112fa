"""The one kind of CEL selector that compiled templates use: these NPUs, by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from topology.profiles import DriverProfile


def by_id(profile: DriverProfile, ids: Iterable[int]) -> str:
    """The expression that lets in the NPUs with these ids.

    The class has seen to the driver. An absent attribute reads -1 and is let in by none: an error would fail the pod on
    every node.
    """
    listed = ", ".join(str(id) for id in sorted(ids))
    return f"{_subject(profile)} in [{listed}]"


def ids_of(profile: DriverProfile, expression: str) -> frozenset[int] | None:
    """The ids that an expression of by_id lets in; None for any other expression."""
    match = re.fullmatch(re.escape(_subject(profile)) + r" in \[(\d+(?:, \d+)*)\]", expression)
    return frozenset(int(word) for word in match.group(1).split(", ")) if match else None


def let_in(spec: Mapping[str, Any], ids: Sequence[int], profile: DriverProfile) -> dict[str, int]:
    """The claim's by-id selectors, each with the devices that it lets in, as bits; ids: in the order of the slice."""
    found: dict[str, int] = {}
    for request in spec["devices"]["requests"]:
        for asked in [request["exactly"]] if "exactly" in request else request["firstAvailable"]:
            for selector in asked.get("selectors", []):
                expression = selector["cel"]["expression"]
                chosen = ids_of(profile, expression)
                if chosen is not None:
                    found[expression] = sum(1 << position for position, id in enumerate(ids) if id in chosen)
    return found


def _subject(profile: DriverProfile) -> str:
    return f'device.attributes["{profile.driver}"].?{profile.physical_id}.orValue(-1)'
