"""What the scheduler makes of a claim on the declared servers: whether it fits, keeps its promise, and at what cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.rules.claims.attributes import lacks_all
from policy.rules.claims.cel import is_dead
from policy.rules.claims.shape import MOST, how_many
from policy.rules.context import Context
from policy.rules.find import asked, claim_spec
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.reach import reach
from policy.rules.speak import listed, shortened
from policy.rules.words import LABEL, Untold, asks_for_all, cost, first_breach, promises_of, servers_for, spec_of, twin
from topology.allocator import NEWEST, VERSIONS, Allocated, Fatal, Malformed, TooLong, Unmodelled, World, allocate
from topology.allocator.objects import DeviceClass
from topology.allocator.reading import read_claim
from topology.promise import Promise

_LIMIT = 200_000
"""Calls after which a search on an idle node is given up here, before the scheduler would (see `allocate`)."""

_SLOW = 100_000
"""Calls that keep the scheduler from all other pods for a noticeable time."""


def _satisfiable(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    if devices is None or not context.fleet or not asked(devices):
        return
    # What is told more exactly by other rules is not told again.
    reached = [reach(one, context) for one in asked(devices)]
    if any(one is None or one.unmodelled or one.failures or not one.of_class for one in reached):
        return
    if how_many(devices)[0] > MOST or lacks_all(devices, context):
        return
    if any(is_dead(one, devices, context) for one in asked(devices)):
        return
    spec = spec_of(subject)
    if spec is None:
        return
    nodes = [one.name for one in context.fleet.world.nodes]
    try:
        why = _why_not(spec, context)
    except (Unmodelled, TooLong) as error:
        reason = error.feature if isinstance(error, Unmodelled) else f"a search of more than {_LIMIT:,} calls"
        yield Finding(
            devices.path,
            f"Whether it can be satisfied is not known from here: it rests on {shortened(reason)}.",
            "Ask a cluster.",
            Level.NOTE,
        )
        return
    except Malformed:
        return
    if why and context.fleet.unplaced:
        yield Finding(
            devices.path,
            "Whether it can be satisfied is not known from here: slices select nodes by their labels, and there is no "
            "Node.",
            "Add what `kubectl get nodes -o yaml` prints.",
            Level.NOTE,
        )
    elif why:
        yield Finding(
            devices.at("requests").path,
            f"The claim cannot be satisfied on {listed(nodes)}, though nothing there were in use: {why}.",
            "Ask for fewer devices, or match by a wider group. `ringfence claims allocate` shows what a node would "
            "give.",
        )


def _why_not(spec: Mapping[str, Any], context: Context) -> str:
    """Why no node satisfies it; empty where one does."""
    claim = read_claim({"kind": "ResourceClaim", "metadata": {"name": "claim"}, "spec": spec})
    known = [DeviceClass(name, found) for name, found in context.classes.items() if found is not None]
    world = World(context.fleet.world.slices, known, (), context.fleet.world.nodes)
    version = VERSIONS[context.cluster.version] if context.cluster is not None else NEWEST
    why = ""
    for node in context.fleet.world.nodes:
        outcome = allocate(world, node, [claim], version, _LIMIT)
        if isinstance(outcome, Allocated):
            return ""
        if isinstance(outcome, Fatal) or not why:
            why = outcome.why
    return re.sub(r"claim default/claim(, )?|no devices of node \S+ satisfy the claim", "", why).strip(" :,") or (
        f"no set of devices of one node meets all its requests{' and constraints' if claim.constraints else ''}"
    )


_NPUS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: npus{}}}
spec:
  spec:
    devices:
      requests:
      - name: npu
        exactly: {{deviceClassName: npu.huawei.com, allocationMode: ExactCount, count: {}}}
      constraints:
      - matchAttribute: npu.huawei.com/{}
"""

SATISFIABLE = Rule(
    id="satisfiable",
    title="A claim can be satisfied by at least one declared server when nothing is in use",
    why="The scheduler says only «cannot allocate all claims», also for a claim that no server of the cluster can ever "
    "satisfy: ten NPUs of a ring of eight.",
    group=Group.CLAIMS,
    remedy="Ask for what a server's groups hold: `ringfence topo show`.",
    check=_satisfiable,
    whole=True,
    complies=Example(_NPUS.format("", 8, "topoHccsRingID"), servers=("box16",)),
    violates=Example(_NPUS.format("", 10, "topoHccsRingID"), servers=("box16",)),
)


def _promise(subject: Subject, context: Context) -> Iterator[Finding]:
    spec = spec_of(subject) if claim_spec(subject) is not None else None
    said = subject.view.at("metadata", "annotations", f"{LABEL}/promise")
    if spec is None:
        return
    text = said.text()
    promises: Mapping[str, Promise] | None = None
    where = ("metadata", "name")
    if text is not None:
        where = said.path  # type: ignore[assignment]
        try:
            promises = promises_of(text, spec)
        except Untold as why:
            yield Finding(
                where,
                f"Whether the promise is kept is not known from here: {why}.",
                "Write ExactCount and the count.",
                Level.NOTE,
            )
            return
        except (ValueError, KeyError) as error:
            yield Finding(
                where, f"The promise cannot be read: {error}.", "Write it as `ringfence claims compile` does."
            )
            return
    yield from _counted(subject, spec)
    named = context.fleet.templates.get(subject.name)
    if promises is None and named is not None:
        promises = named[1].promises
    if promises is None or (named is not None and named[1].spec == spec and named[1].promises == promises):
        return
    yield from _kept(subject, spec, promises, where, context)


def _counted(subject: Subject, spec: Mapping[str, Any]) -> Iterator[Finding]:
    """The count that the name says, against that of the requests."""
    label = subject.view.at("metadata", "labels", f"{LABEL}/count").text()
    name = re.fullmatch(r"npu-.+?-(\d+)(-[a-z-]+)?", subject.name)
    wanted = (
        label if label is not None else name[1] if name is not None and f"{LABEL}/server" in _labels(subject) else None
    )
    if wanted is None or not wanted.isdigit() or asks_for_all(spec):
        return
    counts = {
        sum(one.get("count", 0) for one in combination) for combination in _combinations(spec["devices"]["requests"])
    }
    if counts != {int(wanted)}:
        yield Finding(
            ("metadata", "name"),
            f"{subject.name} is to be {wanted} devices, and its requests are {' or '.join(map(str, sorted(counts)))}.",
            "Correct the counts, or the name and the label.",
        )


def _labels(subject: Subject) -> Mapping[str, str]:
    return subject.view.at("metadata", "labels").strings()


def _combinations(requests: list[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The smallest and the largest choice of alternatives: enough to see whether they differ."""
    alternatives = [request.get("firstAvailable") or [request["exactly"]] for request in requests]
    by_count = [sorted(one, key=lambda asked: asked.get("count", 0)) for one in alternatives]
    return [[one[0] for one in by_count], [one[-1] for one in by_count]]


def _kept(
    subject: Subject, spec: Mapping[str, Any], promises: Mapping[str, Promise], where: Any, context: Context
) -> Iterator[Finding]:
    for server in servers_for(subject, context):
        try:
            found = first_breach(spec, promises, server, context)
        except Untold as why:
            yield Finding(
                where,
                f"Whether the promise is kept on {server.name} is not known from here: {why}.",
                "Prove it.",
                Level.NOTE,
            )
            continue
        if found is not None:
            ids, fault = found
            yield Finding(
                where,
                f"It promises what its words do not keep: on {server.name} the scheduler may give "
                f"{', '.join(map(str, ids))}, which breaks it: {fault}.",
                "Add the constraint that is missing, or promise less: `ringfence claims compile` writes both.",
            )
            return


def _promised(promise: str) -> str:
    labels = "\n  labels: {ringfence.dev/server: box16, ringfence.dev/count: '8'}\n  annotations: "
    text = _NPUS.format("", 8, "topoHccsRingID")
    return text.replace(
        "metadata: {name: npus}", f"metadata:\n  name: npus{labels}{{ringfence.dev/promise: '{promise}'}}"
    )


PROMISE = Rule(
    id="keeps-promise",
    title="Every set of devices that a claim's words allow keeps what its name or annotation promises",
    why="A template named after a ring and a NUMA node is trusted for it. The scheduler takes the first set that the "
    "words allow, which on an idle node is the right one by luck and on a busy one is not.",
    group=Group.CLAIMS,
    remedy="Take the template that `ringfence claims compile` writes for the server.",
    check=_promise,
    whole=True,
    complies=Example(_promised("one ring"), servers=("box16",)),
    violates=Example(_promised("one ring, one NUMA node"), servers=("box16",)),
)


def _worst(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    spec = spec_of(subject) if devices is not None and context.fleet.servers else None
    if spec is None or devices is None:
        return
    known = twin(subject, spec, context)
    most = context.allowed.worst_calls
    if known is not None and known[2] is not None:
        if known[2].worst_calls > most:
            yield _expensive(devices.at("requests").path, known[0].name, known[2].worst_calls, "", most)
        return
    for server in servers_for(subject, context):
        if all(not _reachable(one, server.name, context) for one in asked(devices)):
            continue
        try:
            found = cost(spec, server, context)
        except Untold as why:
            yield Finding(
                devices.at("requests").path,
                f"What the search costs on a busy {server.name} is not known from here: {shortened(str(why))}.",
                "Measure it.",
                Level.NOTE,
            )
            continue
        if found.calls > most:
            free = ", ".join(map(str, found.free))
            at_least = "" if found.exact else "at least "
            yield _expensive(
                devices.at("requests").path, server.name, found.calls, f" with {free} free", most, at_least
            )
            return


def _reachable(one: Any, pool: str, context: Context) -> bool:
    found = reach(one, context)
    return found is not None and any(slice.pool == pool for slice, _ in found.devices)


def _expensive(path: Any, server: str, calls: int, state: str, most: int, at_least: str = "") -> Finding:
    consequence = (
        "that is long enough to keep the scheduler from other pods, and past 10 s on one node the pod is given up on "
        "all."
        if calls > _SLOW
        else f"{most} is the limit set for it."
    )
    return Finding(
        path,
        f"Where it does not fit, the scheduler tries {at_least}{calls:,} times on one {server}{state}; {consequence}",
        "Ask for interchangeable devices with one request and a count, put partners next to each other, and narrow by "
        "CEL "
        "what is known before: `ringfence claims compile` searches for the cheapest form.",
        None if calls > _SLOW else Level.WARNING,
    )


def _singles(number: int) -> str:
    requests = "".join(
        f"      - name: npu-{index}\n"
        "        exactly: {deviceClassName: npu.huawei.com, allocationMode: ExactCount, count: 1}\n"
        for index in range(number)
    )
    head, _, tail = _NPUS.format("", 8, "topoHccsRingID").partition("      - name: npu\n")
    return head + requests + tail.partition("\n")[2]


WORST = Rule(
    id="worst-case",
    title="The scheduler's search for a claim stays short in every state of a server",
    why="The search is exhaustive: where a claim just does not fit, every combination is tried. The proposal's "
    "layout of 16 NPUs took the real scheduler seconds on one node with one NPU busy; past 10 s a pod is given up on "
    "all nodes.",
    group=Group.CLAIMS,
    remedy="One request with a count instead of many; partners adjacent; the strongest constraint first.",
    check=_worst,
    whole=True,
    complies=Example(_NPUS.format("", 4, "topoHccsRingID"), servers=("box16",)),
    violates=Example(_singles(8), servers=("box16",)),
)

RULES = (SATISFIABLE, PROMISE, WORST)
