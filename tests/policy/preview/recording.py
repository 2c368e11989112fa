"""Previews as the real engine printed them, kept small: without what differs from run to run or names a machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"
GOLDEN = Path(__file__).parent / "golden"
KINDS = Path(__file__).parent / "kinds"

_DROPPED = frozenset(
    {"stackTrace", "sourcePosition", "created", "modified", "timestamp", "propertyDependencies", "duration", "id"}
    | {"PolicyPacks", "durationSeconds", "config", "hideDiffs", "policyRemediateSummaryEvent"}
)
_OF_THE_MACHINE = (" from $PATH at ", "is expected to have version")


def trimmed(text: str) -> str:
    """The same preview, smaller. Of outputs only the masks of secrets and what a status counts are left."""
    try:
        return json.dumps(_smaller(json.loads(text)), indent=1, sort_keys=True) + "\n"
    except ValueError:
        events = [_smaller(json.loads(line)) for line in text.splitlines() if line.startswith("{")]
    # An event is its sequence and one thing more; those whose thing was dropped go, and outputs come twice.
    kept = [event for event in events if event.keys() - {"sequence", "resOutputsEvent"} and not _noise(event)]
    return "".join(json.dumps(event, sort_keys=True) + "\n" for event in kept)


def _noise(event: dict[str, Any]) -> bool:
    message = event.get("diagnosticEvent", {}).get("message", "")
    return any(words in message for words in _OF_THE_MACHINE)


def _smaller(value: Any, path: tuple[str, ...] = ()) -> Any:
    if isinstance(value, dict):
        return dict(_items(value, path))
    if isinstance(value, list):
        kept = (item for item in value if not (isinstance(item, dict) and _noise({"diagnosticEvent": item})))
        return [_smaller(item, path) for item in kept]
    return value


def _items(value: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        # Only pulumi's own keys: an object may have a label of such a name.
        if key in _DROPPED and "inputs" not in path and "outputs" not in path:
            continue
        kept: Any = item
        if key == "outputs":
            kept = {part: item[part] for part in ("status", "data", "stringData") if part in (item or {})}
        if key == "kubeconfig":
            kept = "a path"
        yield key, _smaller(kept, (*path, key))
