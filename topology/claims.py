"""The compiler: from a placement to the ResourceClaimTemplate that allows just its sets; the only place with forms.

A form is right only if the attributes that the driver publishes split the NPUs exactly as the placement's pools and
units do; that is checked here, value by value, before a template exists.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topology.assumptions import CHIP, PCIE_ROOT, UB_RING, assume
from topology.classes import chip_class
from topology.devices import Value, attributes
from topology.errors import TopologyError
from topology.model import Server
from topology.placements import Choice, Placement, choices
from topology.profiles import DriverProfile
from topology.promise import Keeps, Promise
from topology.template import Template

LABELS = "ringfence.dev"
MAX_DEVICES_PER_CLAIM = 32
RELAXED = "relaxed"
REQUEST = "npu"


@dataclass(frozen=True)
class Refused:
    """A count and shape that a job may ask for, for which there is no right template, and why."""

    count: int
    shape: str
    reason: str


@dataclass(frozen=True)
class Compiled:
    """All templates of a server by count, the tightest first, and what the driver's attributes cannot say."""

    templates: tuple[Template, ...]
    refused: tuple[Refused, ...]


def compile_templates(
    server: Server, profile: DriverProfile, counts: Collection[int] | None = None, relaxed: bool = True
) -> tuple[Template, ...]:
    """The templates of `compile_server`. counts: only these; TopologyError for one that has no template."""
    compiled = compile_server(server, profile, relaxed=relaxed)
    if counts is None:
        return compiled.templates
    for count in counts:
        if all(template.count != count for template in compiled.templates):
            offered = sorted({template.count for template in compiled.templates})
            reasons = [refused.reason for refused in compiled.refused if refused.count == count]
            raise TopologyError(
                f"{server.name} has no template for {count} NPUs{': ' + reasons[0] if reasons else '.'}",
                remedy=f"It has some for {', '.join(map(str, offered))}.",
            )
    return tuple(template for template in compiled.templates if template.count in counts)


def compile_server(server: Server, profile: DriverProfile, relaxed: bool = True) -> Compiled:
    """Every template for the server, for a driver that publishes as the profile says.

    Where a capture leaves a fact open that a template needs, the template rests on the default assumption and says so.
    TopologyError where the server's wiring is that of a broken one.
    """
    if server.faults:
        raise TopologyError(server.faults[0], remedy="Repair the server or its capture; nothing is compiled from it.")
    context = _Context.of(server, profile)
    templates: list[Template] = []
    refused: list[Refused] = []
    for choice in choices(server):
        made, not_made = _choice(context, choice, relaxed)
        templates += made
        refused += not_made
    return Compiled(tuple(templates), tuple(refused))


@dataclass(frozen=True)
class _Context:
    server: Server
    profile: DriverProfile
    device_class: str
    known: Mapping[int, Mapping[str, Value]]
    assumed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, server: Server, profile: DriverProfile) -> _Context:
        full = assume(server)
        chips = {npu.chip for npu in full.npus}
        chip = chips.pop() if len(chips) == 1 else None
        return cls(server, profile, chip_class(profile, chip), attributes(full, profile), full.assumptions)


@dataclass(frozen=True)
class _Form:
    """requests and constraints that allow just a placement's sets, and the assumptions that this rests on."""

    requests: list[dict[str, Any]]
    constraints: list[dict[str, Any]]
    rests_on: frozenset[str]


def _choice(context: _Context, choice: Choice, relaxed: bool) -> tuple[list[Template], list[Refused]]:
    made: list[Template] = []
    refused: list[Refused] = []
    if choice.count > MAX_DEVICES_PER_CLAIM:
        reason = f"a claim may hold {MAX_DEVICES_PER_CLAIM} devices at most."
        return [], [Refused(choice.count, choice.tiers[0].shape, reason)]
    expressible: list[Placement] = []
    for index, tier in enumerate(choice.tiers):
        try:
            form = _form(context, tier)
        except TopologyError as error:
            refused.append(Refused(choice.count, tier.shape, error.reason))
            continue
        expressible.append(tier)
        if index < choice.strict:
            # The tightest has the plain name: it is what a job should ask for first.
            suffix = "" if not made else f"-{tier.shape}"
            made.append(_template(context, tier.count, tier.shape, suffix, form, {"": tier.promise}))
    ladder = [tier for tier in expressible if tier.unit_size == 1]
    if relaxed and len(ladder) > 1:
        promises = {f"{REQUEST}/{tier.shape}": tier.promise for tier in ladder}
        made.append(_template(context, choice.count, RELAXED, f"-{RELAXED}", _prioritized(context, ladder), promises))
    return made, refused


def _form(context: _Context, placement: Placement) -> _Form:
    constraints = _pool_attributes(context, placement)
    if placement.unit_size == 1:
        request = {"name": REQUEST, "exactly": _exactly(context, placement.count)}
        matches = [{"requests": [REQUEST], "matchAttribute": name} for name, _ in constraints]
        return _Form([request], matches, _union(constraints))
    name, rests_on = _unit_attribute(context, placement)
    names = [f"{REQUEST}-{number}" for number in range(placement.count // placement.unit_size)]
    requests = [{"name": request, "exactly": _exactly(context, placement.unit_size)} for request in names]
    matches = [{"requests": [request], "matchAttribute": name} for request in names]
    matches += [{"requests": list(names), "matchAttribute": pool} for pool, _ in constraints]
    return _Form(requests, matches, rests_on | _union(constraints))


def _prioritized(context: _Context, ladder: Sequence[Placement]) -> _Form:
    alternatives: list[dict[str, Any]] = []
    matches: list[dict[str, Any]] = []
    rests_on: frozenset[str] = frozenset()
    for tier in ladder:
        constraints = _pool_attributes(context, tier)
        alternatives.append({"name": tier.shape, **_exactly(context, tier.count)})
        matches += [{"requests": [f"{REQUEST}/{tier.shape}"], "matchAttribute": name} for name, _ in constraints]
        rests_on |= _union(constraints)
    return _Form([{"name": REQUEST, "firstAvailable": alternatives}], matches, rests_on)


def _exactly(context: _Context, count: int) -> dict[str, Any]:
    return {"deviceClassName": context.device_class, "allocationMode": "ExactCount", "count": count}


def _union(constraints: Sequence[tuple[str, frozenset[str]]]) -> frozenset[str]:
    return frozenset().union(*(rests_on for _, rests_on in constraints))


_POOL_KEEPS = (Keeps.ONE_RING, Keeps.ONE_SWITCH, Keeps.ONE_NUMA)
_UNIT_KEEPS = {
    Keeps.MIRRORED: Keeps.ONE_SWITCH,
    Keeps.WHOLE_RINGS: Keeps.ONE_RING,
}


def _published(context: _Context, keeps: Keeps) -> tuple[str, frozenset[str]]:
    """The slice's attribute that tells the groups of `keeps` apart, and the assumptions its values rest on."""
    profile, assumed = context.profile, context.assumed
    spelled, assumption = {
        Keeps.ONE_RING: (profile.ring, UB_RING),
        Keeps.ONE_SWITCH: (profile.pcie_root, PCIE_ROOT),
        Keeps.ONE_NUMA: (profile.numa, None),
        Keeps.WHOLE_DIES: (profile.sio, None),
    }[keeps]
    if spelled is None:
        raise TopologyError(
            f"the driver profile {profile.name} publishes nothing that tells {keeps} apart.",
            remedy="Use a driver that publishes topology.",
        )
    return spelled, frozenset({assumption} & set(assumed)) if assumption else frozenset()


def _pool_attributes(context: _Context, placement: Placement) -> list[tuple[str, frozenset[str]]]:
    """The attributes whose equal values make the placement's pools: (qualified name, assumptions). Checked by value."""
    spelled = [_published(context, keeps) for keeps in _POOL_KEEPS if keeps in placement.keeps]
    if not spelled:
        return []
    classes = _split(context, [name for name, _ in spelled])
    fitting = {members for members in classes if len(members) >= placement.count}
    if fitting != set(placement.pools):
        raise _mismatch(context, [name for name, _ in spelled], placement.shape)
    return [(context.profile.qualified(name), rests_on) for name, rests_on in spelled]


def _unit_attribute(context: _Context, placement: Placement) -> tuple[str, frozenset[str]]:
    keeps = next(keeps for keeps in placement.keeps if keeps in _UNIT_KEEPS or keeps is Keeps.WHOLE_DIES)
    name, rests_on = _published(context, _UNIT_KEEPS.get(keeps, keeps))
    classes = {members for members in _split(context, [name]) if len(members) >= placement.unit_size}
    if classes != set(placement.units):
        raise _mismatch(context, [name], placement.shape)
    return context.profile.qualified(name), rests_on


def _split(context: _Context, names: Sequence[str]) -> list[frozenset[int]]:
    """The NPUs by equal values of the attributes; who lacks one is in no class, as no constraint accepts it."""
    classes: dict[tuple[Value, ...], set[int]] = {}
    for id, values in context.known.items():
        if all(name in values for name in names):
            classes.setdefault(tuple(values[name] for name in names), set()).add(id)
    return [frozenset(members) for members in classes.values()]


def _mismatch(context: _Context, names: Sequence[str], shape: str) -> TopologyError:
    return TopologyError(
        f"equal {' and '.join(names)} does not mean what {shape} promises on {context.server.name}: "
        "the values known of its NPUs split them otherwise.",
        remedy="A driver that publishes the group itself is needed.",
    )


def _template(
    context: _Context, count: int, shape: str, suffix: str, form: _Form, promises: Mapping[str, Promise]
) -> Template:
    server = context.server
    rests_on = form.rests_on | ({CHIP} & set(context.assumed))
    annotations = {f"{LABELS}/promise": " → ".join(str(promise) for promise in promises.values())}
    if rests_on:
        annotations[f"{LABELS}/assumes"] = ", ".join(f"{key}={context.assumed[key]}" for key in sorted(rests_on))
    devices: dict[str, Any] = {"requests": form.requests}
    # An empty list would come back from the server as no list, and be a difference for ever.
    if form.constraints:
        devices["constraints"] = form.constraints
    return Template(
        name=f"npu-{server.name}-{count}{suffix}",
        server=server.name,
        count=count,
        shape=shape,
        labels={
            "app.kubernetes.io/managed-by": "ringfence",
            f"{LABELS}/count": str(count),
            f"{LABELS}/server": server.name,
            f"{LABELS}/shape": shape,
            f"{LABELS}/wiring": wiring_hash(server),
        },
        annotations=annotations,
        spec={"devices": devices},
        promises=promises,
    )


def wiring_hash(server: Server) -> str:
    """16 hex digits of SHA-256 over all that is known of the server's wiring; its name does not count."""
    facts = {
        "label": server.label,
        "npus": [[n.id, n.affinity, n.chip, n.bus_id, n.memory_mib, n.pcie_root, n.numa_node] for n in server.npus],
        "relations": server.relations,
    }
    return hashlib.sha256(json.dumps(facts, separators=(",", ":")).encode()).hexdigest()[:16]
