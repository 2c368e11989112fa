"""Constraint attributes: that the driver publishes them, and that each device has them that a request could take."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import asked, claim_spec, covered
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.reach import Spot, reach
from policy.rules.speak import close, listed
from policy.rules.view import View
from topology.allocator.constraints import value_of
from topology.profiles import DriverProfile


def _attributes(constraint: View) -> Iterator[tuple[View, str]]:
    """What a constraint compares by, if it is written with its domain."""
    for key in ("matchAttribute", "distinctAttribute"):
        text = constraint.at(key).text()
        if text is not None and all(text.partition("/")):
            yield constraint.at(key), text


def _published(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    if devices is None:
        return
    for constraint in devices.at("constraints").items():
        spots = _spots(constraint, devices, context)
        for view, attribute in _attributes(constraint):
            if not spots:
                yield from _by_profile(view, attribute, context)
            elif is_lacking(spots, attribute):
                names = sorted({slice.driver for slice, _ in spots})
                known = sorted({_full(name, slice.driver) for slice, device in spots for name in device.attributes})
                way_out = _leaves_another(constraint, devices)
                yield Finding(
                    view.path,
                    f"No device that these requests could take has {attribute}, and a constraint refuses every device "
                    "without its attribute: "
                    + (
                        f"the alternatives that it names are never taken from {listed(names)}."
                        if way_out
                        else f"the claim can never be satisfied by {listed(names)}."
                    ),
                    _instead(attribute, known),
                    Level.WARNING if way_out else None,
                )


def _leaves_another(constraint: View, devices: View) -> bool:
    """Whether each request that it binds has an alternative that it does not bind."""
    bound = {one.name for one in covered(constraint, devices)}
    touched = {one.request for one in covered(constraint, devices)}
    free = {one.request for one in asked(devices) if one.name not in bound}
    return touched <= free


def is_lacking(spots: list[Spot], attribute: str) -> bool:
    """Whether none of them has it."""
    return all(value_of(slice.driver, device, attribute) is None for slice, device in spots)


def lacks_all(devices: View, context: Context) -> bool:
    """Whether a constraint of the claim names what no device has."""
    return any(
        is_lacking(spots, attribute)
        for constraint in devices.at("constraints").items()
        if not _leaves_another(constraint, devices) and (spots := _spots(constraint, devices, context))
        for _, attribute in _attributes(constraint)
    )


def _by_profile(view: View, attribute: str, context: Context) -> Iterator[Finding]:
    """Without a device to look at: by the names of the profile, for attributes in the driver's own domain."""
    profile = context.fleet.profile
    if profile is None or context.fleet:
        return
    known = names(profile)
    if attribute.startswith(f"{profile.driver}/") and attribute not in known:
        yield Finding(
            view.path,
            f"The driver profile {profile.name} publishes no {attribute}.",
            _instead(attribute, known),
        )


def names(profile: DriverProfile) -> list[str]:
    """Every attribute that a driver of this profile publishes, each with its domain."""
    published = (
        profile.physical_id,
        profile.chip,
        profile.pci_bus_id,
        profile.pcie_root,
        profile.numa,
        profile.ring,
        profile.sio,
    )
    return [profile.qualified(name) for name in published if name is not None]


def _instead(attribute: str, known: list[str]) -> str:
    meant = close(attribute, known)
    return f"Did you mean {meant}?" if meant else f"They have {listed(known, 8) or 'none'}."


def _full(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _spots(constraint: View, devices: View, context: Context) -> list[Spot]:
    """The devices that the requests of a constraint could take; none where that is not known of one of them."""
    found: dict[tuple[str, str, str], Spot] = {}
    for one in covered(constraint, devices):
        reached = reach(one, context)
        if reached is None or reached.unmodelled or not reached.of_class:
            return []
        found |= {(slice.driver, slice.pool, device.name): (slice, device) for slice, device in reached.devices}
    return list(found.values())


_RING = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: four}}
spec:
  devices:
    requests:
    - name: npu
      exactly: {{deviceClassName: npu.huawei.com, count: 4}}
    constraints:
    - matchAttribute: {}
"""

PUBLISHED = Rule(
    id="constraint-attribute",
    title="A constraint names an attribute that the driver publishes",
    why="Whether an attribute exists is never checked by the API server. A device without it is refused by the "
    "constraint, so where none has it the claim waits for ever. The relations PIX, PXB and PHB are published by no "
    "public NPU driver.",
    group=Group.CLAIMS,
    remedy="Use an attribute that the ResourceSlices have.",
    check=_published,
    whole=True,
    complies=Example(_RING.format("npu.huawei.com/topoHccsRingID"), servers=("box16",)),
    violates=Example(_RING.format("npu.huawei.com/topoPixID"), servers=("box16",)),
)


def _everywhere(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    if devices is None:
        return
    for constraint in devices.at("constraints").items():
        spots = _spots(constraint, devices, context)
        for view, attribute in _attributes(constraint):
            yield from _gaps(view, attribute, spots)


def _gaps(view: View, attribute: str, spots: list[Spot]) -> Iterator[Finding]:
    """Pools in which some devices have it and some do not: another kind of server altogether is no gap."""
    for pool in sorted({slice.pool for slice, _ in spots}):
        here = [spot for spot in spots if spot[0].pool == pool]
        lacking = [device.name for slice, device in here if value_of(slice.driver, device, attribute) is None]
        if lacking and len(lacking) < len(here):
            yield Finding(
                view.path,
                f"On {pool} {listed(lacking)} of {len(here)} devices lack {attribute}: they are never given to this "
                "claim, "
                "however long it waits.",
                "Leave them out by a selector, so that it is meant, or match by an attribute that all of them have.",
                Level.WARNING,
            )


EVERYWHERE = Rule(
    id="constraint-attribute-gap",
    title="Every device that a request could take has the attributes of its constraints",
    why="A constraint refuses each device that lacks its attribute, so such devices are idle for this claim although "
    "they match it. Drivers omit an attribute that they could not read: a NUMA node, a virtual function's parent.",
    group=Group.CLAIMS,
    remedy="Match by an attribute that all have, or leave the others out by a selector.",
    check=_everywhere,
    prod=Level.WARNING,
    whole=True,
    complies=Example(_RING.format("npu.huawei.com/numaNode"), servers=("box16",)),
    violates=Example(
        """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: four}
spec:
  devices:
    requests:
    - name: npu
      exactly: {deviceClassName: npu.huawei.com, count: 2}
    constraints:
    - matchAttribute: npu.huawei.com/numaNode
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: npu.huawei.com}
spec:
  selectors:
  - cel: {expression: device.driver == "npu.huawei.com"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-npu}
spec:
  driver: npu.huawei.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: npu-0
    attributes: {numaNode: {int: 0}}
  - name: npu-1
    attributes: {numaNode: {int: 0}}
  - name: npu-2
"""
    ),
)

RULES = (PUBLISHED, EVERYWHERE)
