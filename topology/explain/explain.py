"""From a situation to its explanation: every node asked, those of which the same is to be said put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from topology.allocator import (
    NEWEST,
    Allocated,
    Claim,
    Fatal,
    Node,
    Outcome,
    TooLong,
    Unmodelled,
    Version,
)
from topology.allocator.nodes import node_matches
from topology.allocator.objects import DeviceId
from topology.claims import LABELS
from topology.explain.candidates import GIVEN_BACK, Choices, Place, Why, choices, places
from topology.explain.conflicts import conflict
from topology.explain.faults import fault
from topology.explain.local import Local
from topology.explain.remedies import PROBES, Remedies, asked_for, remedies, reorder
from topology.explain.results import Explanation, OnNode, Verdict
from topology.explain.signature import Signature, signature
from topology.explain.situation import Offered, Situation, Subject, templates
from topology.explain.trying import fits

LIMIT = 4_000_000
"""Calls after which a search counts as one that the scheduler gives up. How many it makes, see `allocate`."""

COSTLY = 100_000
"""Calls from which on it is said that a search is costly: the scheduler was measured to take 6 s for half a million."""

FIRST = 50_000
"""Calls that every node may have, when others have used up those that are for all."""


@dataclass
class _Group:
    verdict: Verdict
    local: Local
    chosen: tuple[Choices, ...]
    where: list[Place]
    outcome: Outcome | None
    unmodelled: str
    nodes: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)


def explain(
    situation: Situation,
    subject: Subject,
    version: Version = NEWEST,
    only: str | None = None,
    limit: int = LIMIT,
    told: Callable[[str], None] = lambda _: None,
) -> Explanation:
    """Why the subject's pending claims do or do not fit, node by node. only: this node. told: hears of each node."""
    nodes = _nodes(situation, subject, only)
    groups = _groups(situation, subject, nodes, version, limit, told) if subject.pending else []
    offered = _offered(situation, subject)
    found = tuple(sorted((_explained(group, subject.pending, offered) for group in groups), key=_nearest))
    return Explanation(
        subject=subject,
        kubernetes=version.name,
        verdict=_verdict(subject, found, version),
        nodes=found,
        users=situation.users,
        notes=tuple(_notes(situation, subject, nodes, groups)),
        limit=limit,
    )


def _nodes(situation: Situation, subject: Subject, only: str | None) -> list[Node]:
    bound = [situation.bound[claim.key] for claim in subject.allocated if claim.key in situation.bound]
    return [
        node
        for node in sorted(situation.world.nodes, key=lambda one: one.name)
        if only in (None, node.name) and all(node_matches(node, "", one is None, one) for one in bound)
    ]


def _groups(
    situation: Situation,
    subject: Subject,
    nodes: Sequence[Node],
    version: Version,
    limit: int,
    told: Callable[[str], None],
) -> list[_Group]:
    groups: dict[object, _Group] = {}
    # Nodes in the same state, device by device, are searched in the same way.
    known: dict[Signature, tuple[Outcome | None, int]] = {}
    unended: set[object] = set()
    left = limit
    own = frozenset(claim.key for claim in subject.allocated)
    for node in nodes:
        told(node.name)
        local = Local(situation.world, node, version, PROBES, own)
        outcome: Outcome | None = None
        unmodelled, calls = "", 0
        where: list[Place] = []
        chosen: tuple[Choices, ...] = ()
        alike: object = node.name
        try:
            where = places(local)
            chosen = choices(local, subject.pending, where)
            state = signature(local, subject.pending, chosen, where)
            alike = state.sorted()
            if state not in known and alike not in unended:
                most = max(left, min(FIRST, limit))
                known[state] = _run(local, subject.pending, most)
                left -= known[state][1]
                if known[state][0] is None and most < limit:
                    unended.add(alike)
            outcome, calls = known.get(state, (None, 0))
            verdict = _of(outcome, calls >= LIMIT)
        except Unmodelled as error:
            verdict, unmodelled = Verdict.UNMODELLED, error.feature
        group = groups.setdefault(
            (verdict, unmodelled, alike), _Group(verdict, local, chosen, where, outcome, unmodelled)
        )
        group.nodes.append(node.name)
        if calls:
            group.calls.append(calls)
    return list(groups.values())


def _run(local: Local, claims: Sequence[Claim], limit: int) -> tuple[Outcome | None, int]:
    try:
        outcome = local.run(claims, limit)
    except TooLong:
        return None, limit
    return outcome, outcome.calls


def _of(outcome: Outcome | None, whole: bool) -> Verdict:
    if outcome is None:
        return Verdict.GIVEN_UP if whole else Verdict.NOT_SEARCHED
    if isinstance(outcome, Allocated):
        return Verdict.FITS
    return Verdict.FAILS if isinstance(outcome, Fatal) else Verdict.DOES_NOT_FIT


def _explained(group: _Group, claims: Sequence[Claim], offered: Sequence[Offered]) -> OnNode:
    local, outcome = group.local, group.outcome
    there = why = None
    cures = Remedies()
    if group.verdict in (Verdict.GIVEN_UP, Verdict.NOT_SEARCHED):
        there = fits(local, claims)
    if group.verdict is Verdict.DOES_NOT_FIT or there is False:
        why = conflict(local, claims, group.chosen, group.where)
        cures = remedies(local, claims, group.chosen, group.where, why, offered)
    most = max(group.calls, default=0)
    if most >= COSTLY:
        cures = Remedies(
            cures.free, cures.hopeless, cures.count, cures.drop, cures.templates, reorder(local, claims, most)
        )
    given = zip(claims, outcome.devices, strict=True) if isinstance(outcome, Allocated) else ()
    return OnNode(
        nodes=tuple(group.nodes),
        verdict=group.verdict,
        calls=tuple(group.calls),
        given=tuple((claim.key, one) for claim, devices in given for one in devices),
        choices=group.chosen,
        conflict=why,
        remedies=cures,
        fault=fault(outcome, claims, local.classes, group.chosen) if isinstance(outcome, Fatal) else None,
        unmodelled=group.unmodelled,
        there=there,
        holders=_holders(group),
        devices=len(group.where),
    )


def _nearest(one: OnNode) -> tuple[int, float, str]:
    """What fails the pod everywhere comes first, then where it fits, then where least is to be done."""
    free = one.remedies.free
    first = (Verdict.FAILS, Verdict.GIVEN_UP, Verdict.FITS, Verdict.DOES_NOT_FIT, *Verdict)
    return first.index(one.verdict), len(free.holdings) if free is not None else inf, one.example


def _holders(group: _Group) -> dict[DeviceId, tuple[str, ...]]:
    """Of a device whose counters are used up, all that hold something of its pool."""
    found: dict[DeviceId, tuple[str, ...]] = {}
    for asked in group.chosen:
        for one in asked.refused:
            if one.why in GIVEN_BACK and one.device not in found:
                pool = one.why is Why.COUNTERS
                holding = [
                    known.claim
                    for known in group.local.holdings
                    if known.device == one.device or (pool and known.device[:2] == one.device[:2])
                ]
                found[one.device] = tuple(dict.fromkeys(holding))
    return found


def _verdict(subject: Subject, nodes: Sequence[OnNode], version: Version) -> Verdict:
    if not subject.pending:
        return Verdict.ALLOCATED
    found = {one.verdict for one in nodes}
    # From 1.36 on, a search that is given up fails the pod on every node, as other errors always did.
    fatal = [Verdict.FAILS, *([Verdict.GIVEN_UP] if version.ordered else [])]
    for verdict in (*fatal, Verdict.FITS, Verdict.UNMODELLED, Verdict.NOT_SEARCHED, Verdict.GIVEN_UP):
        if verdict in found:
            return verdict
    return Verdict.DOES_NOT_FIT


def _offered(situation: Situation, subject: Subject) -> list[Offered]:
    """The templates of the same server that ask for no more: those for as many first."""
    if len(subject.pending) != 1:
        return []
    every = templates(situation, subject.namespace)
    servers = {one.labels.get(f"{LABELS}/server") for one in every if one.name in subject.templates} - {None}
    wanted = asked_for(subject.pending[0])
    found = []
    for one in every:
        server, count = one.labels.get(f"{LABELS}/server"), asked_for(one.claim)
        if server is None or one.name in subject.templates or (servers and server not in servers):
            continue
        if wanted is None or count is None or count <= wanted:
            found.append(one)
    return sorted(found, key=lambda one: (-(asked_for(one.claim) or 0), one.name))


def _notes(situation: Situation, subject: Subject, nodes: Sequence[Node], groups: Sequence[_Group]) -> list[str]:
    world = situation.world
    found = []
    for key in subject.unmade:
        found.append(f"The claim {key} is not there yet: it is explained from its template.")
    for pod in subject.beside:
        found.append(f"Pod {pod} uses this claim with others, which go to the same node: explain pod/{pod}.")
    if not subject.pending:
        return found
    if not world.slices:
        found.append("No driver publishes any device: there is no ResourceSlice.")
    if not nodes:
        found.append("There is no node to look at.")
    for claim in subject.allocated:
        if situation.bound.get(claim.key) is not None:
            found.append(
                f"The claim {claim.key} is allocated already: only the nodes where it can be used are looked at."
            )
    known = {one.name for one in world.classes}
    asked = {one.request.device_class for group in groups for one in group.chosen} & known
    matched = {
        one.request.device_class
        for group in groups
        for one in group.chosen
        if one.free or any(refused.why != "class-selector" for refused in one.refused)
    }
    if world.slices:
        found += [f"No device of these nodes is of the class {name}." for name in sorted(asked - matched)]
    if situation.rules:
        found.append(f"DeviceTaintRules are not looked at: {', '.join(situation.rules)}.")
    found.append(
        "Only devices are looked at: not the pod's nodeSelector, affinity and tolerations, nor CPU, memory and so on."
    )
    return found
