"""The compiler: from the placements of a server to the ResourceClaimTemplates that allow just their sets.

A template exists only where the attributes that the driver publishes split the NPUs exactly as the placement does
(topology.vocabulary); how it is written is for topology.forms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from topology.assumptions import CHIP
from topology.errors import TopologyError
from topology.forms.choose import choose
from topology.forms.form import REQUEST, Form
from topology.forms.plain import prioritized
from topology.model import Server
from topology.placements import Choice, Placement, choices
from topology.profiles import DriverProfile
from topology.promise import Promise
from topology.template import Template
from topology.vocabulary import Vocabulary

LABELS = "ringfence.dev"
MAX_DEVICES_PER_CLAIM = 32
RELAXED = "relaxed"


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
    vocabulary = Vocabulary.of(server, profile)
    templates: list[Template] = []
    refused: list[Refused] = []
    for choice in choices(server):
        made, not_made = _choice(vocabulary, choice, relaxed)
        templates += made
        refused += not_made
    return Compiled(tuple(templates), tuple(refused))


def _choice(vocabulary: Vocabulary, choice: Choice, relaxed: bool) -> tuple[list[Template], list[Refused]]:
    made: list[Template] = []
    refused: list[Refused] = []
    if choice.count > MAX_DEVICES_PER_CLAIM:
        reason = f"a claim may hold {MAX_DEVICES_PER_CLAIM} devices at most."
        return [], [Refused(choice.count, choice.tiers[0].shape, reason)]
    expressible: list[Placement] = []
    for index, tier in enumerate(choice.tiers):
        try:
            form = choose(vocabulary, tier)
        except TopologyError as error:
            refused.append(Refused(choice.count, tier.shape, error.reason))
            continue
        expressible.append(tier)
        if index < choice.strict:
            # The tightest has the plain name: it is what a job should ask for first.
            suffix = "" if not made else f"-{tier.shape}"
            made.append(_template(vocabulary, tier.count, tier.shape, suffix, form, {"": tier.promise}))
    ladder = [tier for tier in expressible if tier.unit_size == 1]
    if relaxed and len(ladder) > 1:
        promises = {f"{REQUEST}/{tier.shape}": tier.promise for tier in ladder}
        made.append(
            _template(vocabulary, choice.count, RELAXED, f"-{RELAXED}", prioritized(vocabulary, ladder), promises)
        )
    return made, refused


def _template(
    vocabulary: Vocabulary, count: int, shape: str, suffix: str, form: Form, promises: Mapping[str, Promise]
) -> Template:
    server = vocabulary.server
    rests_on = form.rests_on | ({CHIP} & set(vocabulary.assumed))
    annotations = {f"{LABELS}/promise": " → ".join(str(promise) for promise in promises.values())}
    annotations[f"{LABELS}/form"] = form.family
    if rests_on:
        annotations[f"{LABELS}/assumes"] = ", ".join(f"{key}={vocabulary.assumed[key]}" for key in sorted(rests_on))
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
        spec=form.spec(),
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
