"""An explanation as data. `plain` is what `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from topology.allocator import Given
from topology.allocator.objects import DeviceId
from topology.explain.candidates import GIVEN_BACK, Choices, Refused, Why
from topology.explain.conflicts import Conflict, Shortage, Tally
from topology.explain.local import Holding
from topology.explain.remedies import Remedies
from topology.explain.situation import Subject


class Verdict(StrEnum):
    """Of a node, and of all of them together; the value is its name in JSON."""

    ALLOCATED = "allocated"
    FITS = "fits"
    DOES_NOT_FIT = "does-not-fit"
    FAILS = "fails-the-pod"
    GIVEN_UP = "given-up"
    NOT_SEARCHED = "not-searched-to-the-end"
    UNMODELLED = "unmodelled"


@dataclass(frozen=True)
class Fault:
    """What the scheduler fails a pod for, whatever is free. kind: "unknown-class", "too-many", "selector-error",
    "all-and-constraint", "all-and-pool" or "other". why: in the scheduler's words. remedy: in ours."""

    kind: str
    why: str
    remedy: str
    request: str = ""
    detail: str = ""


@dataclass(frozen=True)
class OnNode:
    """Nodes of which the same is to be said; devices and numbers are those of the first, `calls` of each.

    calls: empty where no search was made. there: for a search that does not end, whether the devices are.
    holders: device → claims, for what keeps a device away and may be given back.
    """

    nodes: tuple[str, ...]
    verdict: Verdict
    calls: tuple[int, ...] = ()
    given: tuple[tuple[str, Given], ...] = ()
    choices: tuple[Choices, ...] = ()
    conflict: Conflict | None = None
    remedies: Remedies = field(default_factory=Remedies)
    fault: Fault | None = None
    unmodelled: str = ""
    there: bool | None = None
    holders: Mapping[DeviceId, tuple[str, ...]] = field(default_factory=dict)
    devices: int = 0

    @property
    def example(self) -> str:
        return self.nodes[0]


@dataclass(frozen=True)
class Explanation:
    """users: claim → pods. notes: what else is to be known, a sentence each. limit: calls after which a search ends."""

    subject: Subject
    kubernetes: str
    verdict: Verdict
    nodes: tuple[OnNode, ...]
    users: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    limit: int

    def plain(self) -> dict[str, Any]:
        """Lists and dicts of text and numbers."""
        return {
            "subject": {
                "kind": self.subject.kind,
                "name": self.subject.name,
                "pending": [claim.key for claim in self.subject.pending],
                "allocated": [
                    {"claim": claim.key, "devices": [_device(one.id) for one in claim.taken or ()]}
                    for claim in self.subject.allocated
                ],
                "notYetMade": list(self.subject.unmade),
            },
            "kubernetes": self.kubernetes,
            "verdict": self.verdict.value,
            "notes": list(self.notes),
            "nodes": [self._node(one) for one in self.nodes],
        }

    def _node(self, one: OnNode) -> dict[str, Any]:
        found: dict[str, Any] = {
            "nodes": list(one.nodes),
            "verdict": one.verdict.value,
            "example": one.example,
            "calls": dict(zip(("least", "most"), (min(one.calls), max(one.calls)), strict=True)) if one.calls else None,
        }
        if one.given:
            found["given"] = [{"claim": claim, **vars(given)} for claim, given in one.given]
        if one.fault is not None:
            found["fault"] = vars(one.fault)
        if one.unmodelled:
            found["unmodelled"] = one.unmodelled
        if one.there is not None:
            found["devicesAreThere"] = one.there
        found["requests"] = [self._choices(asked, one.holders) for asked in one.choices]
        if one.conflict is not None:
            found["conflict"] = _conflict(one.conflict)
            found["remedies"] = self._remedies(one.remedies)
        elif one.remedies.reorder is not None:
            found["remedies"] = self._remedies(one.remedies)
        return found

    def _choices(self, asked: Choices, holders: Mapping[DeviceId, tuple[str, ...]]) -> dict[str, Any]:
        reasons: dict[tuple[Why, str, str], list[Refused]] = {}
        for one in asked.refused:
            reasons.setdefault((one.why, one.detail, one.error), []).append(one)
        return {
            "claim": asked.claim,
            "request": asked.name,
            "class": asked.request.device_class,
            "asks": "All" if asked.request.all else asked.request.count,
            "couldTake": [_device(id) for id in asked.free],
            "cannotTake": [
                {
                    "why": why.value,
                    **({"detail": detail} if detail else {}),
                    **({"error": error} if error else {}),
                    "devices": [_device(one.device) for one in refused],
                    **(
                        {
                            "heldBy": [
                                {
                                    "device": _device(one.device),
                                    "claims": [
                                        {"claim": claim, "pods": list(self.users.get(claim, ()))}
                                        for claim in holders.get(one.device, ())
                                    ],
                                }
                                for one in refused
                            ]
                        }
                        if why in GIVEN_BACK
                        else {}
                    ),
                }
                for (why, detail, error), refused in reasons.items()
            ],
        }

    def _remedies(self, one: Remedies) -> dict[str, Any]:
        free = one.free
        return {
            "free": None
            if free is None
            else {"smallest": free.exact, "devices": [self._holding(holding) for holding in free.holdings]},
            "noFreeingHelps": one.hopeless,
            "count": None if one.count is None else vars(one.count),
            "without": [{**vars(drop), "requests": list(drop.requests)} for drop in one.drop],
            "templates": [vars(other) for other in one.templates],
            "order": None
            if one.reorder is None
            else {"requests": list(one.reorder.requests), "calls": one.reorder.calls},
        }

    def _holding(self, holding: Holding) -> dict[str, Any]:
        return {
            "device": _device(holding.device),
            "claim": holding.claim,
            "pods": list(self.users.get(holding.claim, ())),
        }


def _conflict(one: Conflict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "requests": [{"claim": claim, "request": name} for claim, name in one.requests],
        "constraints": [
            {
                "claim": claim,
                "distinctAttribute" if constraint.distinct else "matchAttribute": constraint.attribute,
                "requests": sorted(constraint.requests),
            }
            for claim, constraint in one.constraints
        ],
        "smallest": one.exact,
        "shortages": [_shortage(short) for short in one.shortages],
        "values": [_tally(tally) for tally in one.tallies],
    }
    if one.alternatives:
        found["alternatives"] = [{"request": name, **_conflict(inner)} for name, inner in one.alternatives]
    return found


def _shortage(one: Shortage) -> dict[str, Any]:
    return {"requests": list(one.requests), "asks": one.needs if one.needs is not None else "All", "free": one.free}


def _tally(one: Tally) -> dict[str, Any]:
    return {
        "attributes": list(one.attributes),
        "requests": list(one.requests),
        "distinct": one.distinct,
        "asked": one.asked,
        "times": one.times,
        "by": [{"values": list(values), "free": free, "held": held} for values, free, held in one.rows],
    }


def _device(id: DeviceId) -> str:
    return "/".join(id)
