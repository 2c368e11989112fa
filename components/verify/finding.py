"""One line of a verification: what was looked at, how it stands, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from components.verify.snapshot import HiddenError

State = Literal["ok", "failed", "unknown"]
Object = Mapping[str, Any]

AGAIN = "Run pulumi up --refresh, which puts it back, and find out who changed it."


@dataclass(frozen=True)
class Finding:
    """check: what was looked at. what, remedy: sentences; without a remedy there is nothing to do.

    unknown: cannot be known from here, and `what` says why.
    """

    check: str
    state: State
    what: str
    remedy: str = ""


def ok(check: str, what: str) -> Finding:
    return Finding(check, "ok", what)


def failed(check: str, what: str, remedy: str) -> Finding:
    return Finding(check, "failed", what, remedy)


def unknown(check: str, what: str, remedy: str = "") -> Finding:
    return Finding(check, "unknown", what, remedy)


def looked(check: str, judge: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What `judge` finds; unknown where it asks for something that could not be read."""
    try:
        return list(judge())
    except HiddenError as error:
        remedy = "Run this with a kubeconfig that may get and list it."
        return [unknown(check, f"{error.what} cannot be read: {error.why}.", remedy)]


def at(thing: Any, *steps: str) -> Any:
    """What is at these keys, None where one is not there."""
    for step in steps:
        thing = thing.get(step) if isinstance(thing, Mapping) else None
    return thing


def listed(names: Iterable[str]) -> str:
    """In order, for a sentence."""
    return ", ".join(sorted(names))
