"""What makes the scheduler fail a pod on every node, whatever is free there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from topology.allocator import Claim, Fatal
from topology.allocator.objects import DeviceClass
from topology.allocator.prepare import MAX_DEVICES
from topology.explain.candidates import Choices, Why
from topology.explain.local import alternatives
from topology.explain.results import Fault

_MISSING = re.compile(r'Key not found in map : "([^"]*)"')


def fault(outcome: Fatal, claims: Sequence[Claim], classes: Sequence[DeviceClass], chosen: Sequence[Choices]) -> Fault:
    """Sort the scheduler's error, and say what to change."""
    known = sorted(one.name for one in classes)
    for claim in claims:
        for request in claim.requests:
            for one in alternatives(request):
                if one.device_class not in known and f"device class {one.device_class} " in outcome.why:
                    there = f"name one that is there: {', '.join(known)}" if known else "another; there is none yet"
                    return Fault(
                        "unknown-class",
                        outcome.why,
                        f"Create the DeviceClass {one.device_class}, or {there}.",
                        request.name,
                        one.device_class,
                    )
    if "CEL runtime error" in outcome.why:
        return _selector(outcome, chosen)
    if "exceed" in outcome.why:
        names = ", ".join(request.name for claim in claims for request in claim.requests)
        remedy = f"Ask for at most {MAX_DEVICES} devices in a claim, or part them among several claims."
        return Fault("too-many", outcome.why, remedy, names)
    if "constraint would not be satisfied" in outcome.why:
        remedy = "Ask for a count instead of `All`, or select only devices that the constraint allows together."
        return Fault("all-and-constraint", outcome.why, remedy, _named(outcome, chosen))
    if "resource pool" in outcome.why:
        remedy = "Ask for a count instead of `All`, or have the driver publish all slices of the pool."
        return Fault("all-and-pool", outcome.why, remedy, _named(outcome, chosen))
    return Fault("other", outcome.why, "Change what the error names.", _named(outcome, chosen))


def _selector(outcome: Fatal, chosen: Sequence[Choices]) -> Fault:
    for asked in chosen:
        for refused in asked.refused:
            if refused.why is Why.ERROR and refused.error and refused.error in outcome.why:
                found = _MISSING.search(refused.error)
                what = f'"{found.group(1)}"' if found else "the field"
                driver = refused.device[0]
                remedy = (
                    f"Let the selector ask first whether {what} is there, with has(…) or `in`: "
                    f"{'/'.join(refused.device)} (driver {driver}) has it not."
                    if found
                    else f"Mend the selector: it fails on {'/'.join(refused.device)}."
                )
                return Fault("selector-error", outcome.why, remedy, asked.name, refused.detail)
    return Fault("selector-error", outcome.why, "Mend the selector.", _named(outcome, chosen))


def _named(outcome: Fatal, chosen: Sequence[Choices]) -> str:
    return next((one.name for one in chosen if re.search(rf"request {re.escape(one.name)}\b", outcome.why)), "")
