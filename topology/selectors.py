"""The one kind of CEL selector that compiled templates use: these NPUs, by their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable

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


def _subject(profile: DriverProfile) -> str:
    return f'device.attributes["{profile.driver}"].?{profile.physical_id}.orValue(-1)'
