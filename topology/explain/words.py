"""An explanation in words. All sentences that a user reads are here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from topology.allocator.objects import DeviceId
from topology.explain.candidates import Choices, Refused, Why
from topology.explain.conflicts import Conflict, Shortage, Tally
from topology.explain.explain import COSTLY
from topology.explain.remedies import Drop, Other, Remedies, words_of
from topology.explain.results import Explanation, OnNode, Verdict

SHOWN = 4
"""Of a list of names, so many are shown."""


GROUPS = 8
"""Of groups of nodes, so many are told of; the first are those where least is to be done."""


def lines(explanation: Explanation) -> Iterator[str]:
    """The report, line by line."""
    subject = explanation.subject
    yield f"{'Pod' if subject.kind == 'pod' else 'Claim'} {subject.name}: {_headline(explanation)}"
    for claim in subject.allocated:
        given = _devices([one.id for one in claim.taken or ()])
        yield f"  {claim.key} has {given or 'devices with admin access only'}."
    for one in explanation.nodes[:GROUPS]:
        yield ""
        yield from _node(explanation, one)
    left = [name for one in explanation.nodes[GROUPS:] for name in one.nodes]
    if left:
        yield ""
        yield f"{_nodes(len(left))} more, where no less is to be done: name one with --node, or take --json."
    if explanation.notes:
        yield ""
    yield from explanation.notes


def _headline(explanation: Explanation) -> str:
    fits = sum(len(one.nodes) for one in explanation.nodes if one.verdict is Verdict.FITS)
    number = sum(len(one.nodes) for one in explanation.nodes)
    whose = f"Kubernetes {explanation.kubernetes}"
    match explanation.verdict:
        case Verdict.ALLOCATED:
            return "it is allocated already."
        case Verdict.FITS:
            return (
                f"it fits on {_nodes(fits)} of {number} ({whose}). If it waits, it is not for want of devices there: "
                "look at the pod's events, its other conditions on nodes, and whether the scheduler runs. A claim that "
                "no pod uses is not allocated at all."
            )
        case Verdict.FAILS:
            return f"the scheduler fails the pod on every node as soon as it looks at one of those below ({whose})."
        case Verdict.GIVEN_UP:
            return f"the scheduler would give up its search, and with it the pod on every node ({whose})."
        case Verdict.NOT_SEARCHED:
            return f"it fits on no node that was searched to the end ({whose})."
        case Verdict.UNMODELLED:
            told = any(one.verdict is not Verdict.UNMODELLED for one in explanation.nodes)
            return f"it cannot be told of some nodes{', on the others it does not fit' if told else ''} ({whose})."
        case _:
            where = "the one node" if number == 1 else f"any of {number} nodes"
            first = explanation.nodes[0] if number else None
            free = first.remedies.free if first is not None else None
            if first is None or free is None or len(explanation.nodes) < 2:
                return f"it does not fit on {where} looked at ({whose})." if number else "there is no node for it."
            nearest = f"Nearest is {first.example}, with {_many(len(free.holdings), 'device')} to be freed."
            return f"it does not fit on {where} looked at ({whose}). {nearest}"


def _nodes(number: int) -> str:
    return _many(number, "node")


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _node(explanation: Explanation, one: OnNode) -> Iterator[str]:
    shown = _some(one.nodes, SHOWN)
    several = len(one.nodes) > 1
    yield f"{f'Nodes {shown} ({len(one.nodes)})' if several else f'Node {shown}'}: {_verdict(one)}"
    if several and one.verdict is not Verdict.FITS:
        yield f"  Devices and holders below are those of {one.example}."
    if one.verdict is Verdict.FITS:
        by_claim = dict.fromkeys(claim for claim, _ in one.given)
        for claim in by_claim:
            ids = [(given.driver, given.pool, given.device) for its, given in one.given if its == claim]
            yield f"  {claim} would be given {_devices(ids)} (on {one.example})."
    elif one.fault is not None:
        yield f"  {_cap(one.fault.why)}."
        if one.fault.detail and one.fault.kind == "selector-error":
            yield f"  The selector: {one.fault.detail}"
        yield f"  {one.fault.remedy}"
    else:
        several_claims = len({asked.claim for asked in one.choices}) > 1
        told: dict[tuple[object, ...], list[Choices]] = {}
        for asked in one.choices:
            same = (asked.claim, asked.request.device_class, _asks(asked), asked.free, asked.refused)
            told.setdefault(same, []).append(asked)
        for alike in told.values():
            yield from _choices(explanation, alike, one.holders, several_claims)
    if one.conflict is not None:
        yield from _conflict(one.conflict)
        yield from _remedies(explanation, one)
    yield from _cost(one)


def _verdict(one: OnNode) -> str:
    match one.verdict:
        case Verdict.FITS:
            return "it fits."
        case Verdict.FAILS:
            return "the search ends with an error."
        case Verdict.UNMODELLED:
            return f"cannot be told: the scheduler's search is not replicated for {one.unmodelled}."
        case Verdict.GIVEN_UP:
            return f"the search would be given up. {_there(one)}"
        case Verdict.NOT_SEARCHED:
            return f"not searched to the end. {_there(one)}"
        case _:
            return "it does not fit." if one.devices else "it offers no device at all."


def _there(one: OnNode) -> str:
    if one.there is None:
        return "Whether the devices are there is not known."
    return "The devices are there." if one.there else "And the devices are not there."


def _asks(asked: Choices) -> str:
    return "all" if asked.request.all else str(asked.request.count)


def _choices(
    explanation: Explanation,
    alike: Sequence[Choices],
    holders: Mapping[DeviceId, tuple[str, ...]],
    name_claim: bool,
) -> Iterator[str]:
    asked = alike[0]
    total = len(asked.free) + len(asked.refused)
    names = _some([one.name for one in alike], SHOWN)
    of = f" of claim {asked.claim}" if name_claim else ""
    each = " each" if len(alike) > 1 else ""
    yield (
        f"  Request{'s' if len(alike) > 1 else ''} {names}{of} ({_asks(asked)}{each} of class "
        f"{asked.request.device_class}): {len(asked.free)} of {total} devices could be taken"
        f"{'.' if not asked.refused else '; not:'}"
    )
    reasons: dict[tuple[Why, str, str], list[Refused]] = {}
    for one in asked.refused:
        reasons.setdefault((one.why, one.detail, one.error), []).append(one)
    for (why, detail, error), refused in reasons.items():
        ids = [one.device for one in refused]
        if why in (Why.HELD, Why.USED_UP, Why.COUNTERS):
            yield from _held(explanation, holders, why, ids)
        else:
            yield f"    {len(ids)}: {_why(why, detail, error)} ({_devices(ids)})"


def _held(
    explanation: Explanation, holders: Mapping[DeviceId, tuple[str, ...]], why: Why, ids: Sequence[DeviceId]
) -> Iterator[str]:
    said = {
        Why.HELD: "held",
        Why.USED_UP: "too little of their capacity is left",
        Why.COUNTERS: "the counters that they share are used up",
    }[why]
    by_claim: dict[tuple[str, ...], list[DeviceId]] = {}
    for id in ids:
        by_claim.setdefault(holders.get(id, ()), []).append(id)
    if len(by_claim) > SHOWN:
        claims = dict.fromkeys(claim for names in by_claim for claim in names)
        yield f"    {len(ids)}: {said} ({_devices(ids)}), by {len(claims)} claims: {_some(list(claims), SHOWN)}"
        return
    for names, its in by_claim.items():
        yield f"    {len(its)}: {said} ({_devices(its)}): {', '.join(_holder(explanation, name) for name in names)}"


def _why(why: Why, detail: str, error: str) -> str:
    match why:
        case Why.CLASS:
            return f"the class selects others: {detail} is false"
        case Why.REQUEST:
            return f"the request selects others: {detail} is false"
        case Why.ERROR:
            return f"the selector fails: {detail}: {error}"
        case Why.UNMODELLED:
            return f"not replicated: {error}"
        case Why.TAINT:
            return f"tainted {detail}, which the request does not tolerate"
        case Why.LACKS:
            return f"without the attribute {detail}, which a constraint asks for"
        case Why.POOL:
            return f"the pool {detail} is incomplete: slices of its newest generation are missing"
        case Why.INVALID:
            return f"the pool {detail} is invalid: {error}"
        case Why.ELSEWHERE:
            return "for other nodes"
        case Why.CAPACITY:
            return "could never give the capacity that is asked for"
        case Why.BINDING:
            return "with binding conditions, which this version has off"
        case _:
            return why.value


def _conflict(one: Conflict) -> Iterator[str]:
    said = list(_reasons(one))
    more = "" if one.exact else " (perhaps more than needed to say why)"
    if one.alternatives:
        yield f"  In the way{more}: each alternative fails:"
        for name, inner in one.alternatives:
            yield f"    {name}: {'; '.join(_reasons(inner)) or _together(inner)}."
        return
    if len(said) > 1:
        yield f"  In the way{more}, together:"
        yield from (f"    {reason}." for reason in said)
    else:
        yield f"  In the way{more}: {said[0] if said else _together(one)}."


def _reasons(one: Conflict) -> Iterator[str]:
    if one.shortages and not one.constraints:
        yield from (_shortage(short) for short in one.shortages)
        return
    for tally in one.tallies:
        yield _tally(tally)
    several = len({claim for claim, _ in one.requests}) > 1
    bound = {name for tally in one.tallies for name in tally.requests}
    for claim, request in one.requests:
        named = f"{request} of {claim}" if several else request
        if one.tallies and named not in bound and not any(name.startswith(f"{request}/") for name in bound):
            yield f"request {named} takes devices from the same ones"


def _shortage(one: Shortage) -> str:
    names = _some(one.requests, 8)
    if len(one.requests) > 1 and one.needs is not None and one.needs <= one.free:
        return f"requests {names} ask for {one.needs} of the same {one.free} devices, in ways that do not go together"
    if len(one.requests) > 1:
        return f"requests {names} ask for {one.needs} devices together, and {one.free or 'none'} could be taken"
    if one.needs is not None:
        return f"request {names} asks for {one.needs}, and {one.free or 'none'} could be taken"
    if one.could:
        return f"request {names} asks for all devices that it selects, and some of them are not to be had"
    return f"request {names} asks for all devices that it selects, and there are none"


def _together(one: Conflict) -> str:
    names = [name for _, name in one.requests]
    if not one.constraints:
        return f"requests {_some(names, 8)} together ask for more devices than could be taken"
    written = dict.fromkeys(words_of(constraint) for _, constraint in one.constraints)
    return f"{', '.join(written)} over {_some(names, 8)} cannot be met"


def _tally(one: Tally) -> str:
    names = " and ".join(_short(name) for name in one.attributes)
    over = _some(one.requests, 8)
    asked = f"{one.asked} devices" if one.times == 1 else f"{one.times} times {one.asked} devices"
    if one.distinct:
        free = sum(1 for _, free, _ in one.rows if free)
        return (
            f"{names} must differ over {over}: {asked} are asked for, and the free devices have {free} different values"
        )
    rows = [f"{_values(values)} has {free} free{f', {held} held' if held else ''}" for values, free, held in one.rows]
    many = len(rows) > 6
    if many:
        enough = sum(1 for _, free, _ in one.rows if free >= one.asked)
        shown = f"of {len(rows)} values, {enough} {'has' if enough == 1 else 'have'} {one.asked} free"
    else:
        shown = "; ".join(rows) or "no device has a value"
    each = " each" if one.times > 1 else ""
    return f"{names} must be equal over {over}: {asked} are asked for of one value{each}; {shown}"


def _values(values: Sequence[object]) -> str:
    return "/".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


def _short(attribute: str) -> str:
    return attribute.rpartition("/")[2]


def _remedies(explanation: Explanation, one: OnNode) -> Iterator[str]:
    found = list(_ways(explanation, one.remedies))
    if found:
        yield "  What would do, any one of these:"
        yield from (f"    - {way}" for way in found)
    elif one.remedies.hopeless:
        yield "  No change was found that would do here."
    if one.remedies.hopeless and one.holders:
        yield "  Freeing devices does not help: it would not fit even if others held none."


def _ways(explanation: Explanation, one: Remedies) -> Iterator[str]:
    if one.free is not None:
        ids = [holding.device for holding in one.free.holdings]
        holders = dict.fromkeys(holding.claim for holding in one.free.holdings)
        if ids:
            few = "the fewest" if one.free.exact else "enough; fewer may do"
            by = ", ".join(_holder(explanation, claim) for claim in holders)
            yield f"free {_devices(ids, all_=True)} ({few}), held by {by}"
    if one.count is not None:
        of = _of(explanation, one.count.claim)
        yield f"ask for {one.count.count} in request {one.count.request}{of}: no more fit"
    for other in one.templates:
        yield _other(other)
    for drop in one.drop:
        yield _drop(drop) + _of(explanation, drop.claim)


def _of(explanation: Explanation, claim: str) -> str:
    return f" of claim {claim}" if len(explanation.subject.pending) > 1 else ""


def _other(other: Other) -> str:
    promise = f": {other.promise}" if other.promise else ""
    return f"use the template {other.template}{promise}"


def _drop(drop: Drop) -> str:
    over = f" over {_some(drop.requests, 8)}" if drop.requests else ""
    if drop.kind == "constraint":
        return f"do without {drop.what}{over}"
    if drop.kind == "selector":
        return f"do without the selector {drop.what} of {_some(drop.requests, 8)}"
    return f"tolerate {drop.what} in {_some(drop.requests, 8)}"


def _holder(explanation: Explanation, claim: str) -> str:
    pods = explanation.users.get(claim, ())
    if not pods:
        return f"claim {claim} (no pod)"
    return f"claim {claim} (pod{'s' if len(pods) > 1 else ''} {_some(pods, SHOWN)})"


def _cost(one: OnNode) -> Iterator[str]:
    if not one.calls or one.verdict is Verdict.FAILS:
        return
    least, most = min(one.calls), max(one.calls)
    calls = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    if one.verdict is Verdict.GIVEN_UP:
        yield f"  After {most:,} calls the search has not ended.{_costly(most)}"
    elif one.verdict is Verdict.NOT_SEARCHED:
        yield f"  The search was left after {calls} calls; with --node, one node has all the calls there are."
    elif most >= COSTLY or one.verdict is not Verdict.FITS:
        ended = "found" if one.verdict is Verdict.FITS else "searched through"
        yield f"  {_cap(ended)} in {calls} call{'' if most == 1 else 's'} of the search.{_costly(most)}"
    if one.remedies.reorder is not None:
        order = ", ".join(one.remedies.reorder.requests)
        yield f"  With its requests in another order it ends after {one.remedies.reorder.calls:,}: {order}."


def _costly(calls: int) -> str:
    if calls < COSTLY:
        return ""
    return (
        " That is much: the scheduler gives a search up after 10 s, which some hundred thousand to a few million calls "
        "use up, as each is dear or cheap."
    )


def _devices(ids: Iterable[DeviceId], all_: bool = False) -> str:
    """By name; with driver and pool where they differ."""
    ids = list(ids)
    alone = len({id[:2] for id in ids}) == 1
    names = [id[2] if alone else "/".join(id) for id in ids]
    return ", ".join(names) if all_ else _some(names, 16)


def _some(names: Sequence[str], most: int) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])}, …"


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]
