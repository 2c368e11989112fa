"""What there is to explain: the objects of a dump or a cluster as a world, a claim or pod in it, and who holds what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from topology.allocator import Claim, Malformed, Node, World, read_claim, read_world
from topology.allocator.objects import Device, NodeSelector, Plain, Slice
from topology.allocator.reading import opened
from topology.allocator.reading_slices import read_node_selector
from topology.claims import LABELS
from topology.errors import TopologyError

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim made from a template: the name under which its pod has it."""


PROMISE = f"{LABELS}/promise"


class NotThere(TopologyError):  # noqa: N818 - as Unmodelled
    """What is to be explained is not among the objects, or is several of them."""


@dataclass(frozen=True)
class Offered:
    """A ResourceClaimTemplate, as the claim that it would make. labels: its own. promise: what ours annotate."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    claim: Claim
    promise: str = ""


@dataclass(frozen=True)
class Subject:
    """The claims that are explained together. kind: "claim" or "pod".

    pending: in the order in which the scheduler allocates them. allocated: those of the pod that have devices already.
    unmade: of pending, the keys of those that are not there yet. templates: the names that the claims came from.
    beside: pods that use the claim together with others, which are not looked at.
    """

    kind: str
    name: str
    pending: tuple[Claim, ...]
    allocated: tuple[Claim, ...] = ()
    unmade: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        return self.name.partition("/")[0]


@dataclass(frozen=True)
class Situation:
    """users: claim → pods for which it is reserved. bound: allocated claim → the nodes it can be used on, None: all.

    rules: DeviceTaintRules, which are not modelled. claims, pods: as they were read, by namespace/name.
    """

    world: World
    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bound: Mapping[str, NodeSelector | None] = field(default_factory=dict)
    templates: tuple[Offered, ...] = ()
    rules: tuple[str, ...] = ()
    claims: Mapping[str, Plain] = field(default_factory=dict)
    pods: Mapping[str, Plain] = field(default_factory=dict)
    raw_templates: Mapping[str, Plain] = field(default_factory=dict)


def read_situation(objects: Iterable[Plain]) -> Situation:
    """Sort the objects. A pending claim is read only when it is asked about: others' may be what they like."""
    kinds: dict[str, list[Plain]] = {}
    for thing in opened(objects):
        kinds.setdefault(str(thing.get("kind")), []).append(thing)
    claims = {_key(thing): thing for thing in kinds.get("ResourceClaim", ())}
    allocated = [_bare(thing) for thing in kinds.get("ResourceClaim", ()) if _allocation(thing)]
    world = read_world(
        [*kinds.get("Node", ()), *kinds.get("DeviceClass", ()), *kinds.get("ResourceSlice", ()), *allocated]
    )
    if not world.nodes:
        world = replace(world, nodes=_named(world))
    return Situation(
        world=world,
        users={_key(thing): _users(thing) for thing in allocated},
        bound={
            _key(thing): read_node_selector(_allocation(thing), f"ResourceClaim {_key(thing)}") for thing in allocated
        },
        rules=tuple(_key(thing).partition("/")[2] for thing in kinds.get("DeviceTaintRule", ())),
        claims=claims,
        pods={_key(thing): thing for thing in kinds.get("Pod", ())},
        raw_templates={_key(thing): thing for thing in kinds.get("ResourceClaimTemplate", ())},
    )


def subject(situation: Situation, name: str) -> Subject:
    """The claim `[NS/]NAME` or the pod `pod/[NS/]NAME`. NotThere where that names none or several."""
    kind, slash, rest = name.partition("/")
    if slash and kind in ("pod", "pods", "po"):
        return _pod(situation, _find("Pod", rest, situation.pods, "--claims"))
    if slash and kind in ("claim", "resourceclaim", "resourceclaims") and name not in situation.claims:
        name = rest
    key = _find("ResourceClaim", name, situation.claims, "--claims")
    claim = read_claim(situation.claims[key])
    users = [pod for pod, thing in situation.pods.items() if key in _claims_of(situation, pod, thing)]
    beside = tuple(pod for pod in users if len(_claims_of(situation, pod, situation.pods[pod])) > 1)
    given = claim.taken is not None
    return Subject(
        kind="claim",
        name=key,
        pending=() if given else (claim,),
        allocated=(claim,) if given else (),
        templates=_came_from(situation, key, users),
        beside=beside,
    )


def templates(situation: Situation, namespace: str) -> tuple[Offered, ...]:
    """The templates of a namespace that can be read; others are passed over, they are only proposals."""
    found = []
    for key, thing in situation.raw_templates.items():
        where, _, name = key.partition("/")
        if where != namespace:
            continue
        try:
            claim = _from_template(thing, where, name)
            found.append(
                Offered(where, name, _strings(thing, "labels"), claim, _strings(thing, "annotations").get(PROMISE, ""))
            )
        except TopologyError:
            continue
    return tuple(sorted(found, key=lambda one: one.name))


def _pod(situation: Situation, key: str) -> Subject:
    thing = situation.pods[key]
    namespace, _, name = key.partition("/")
    pending: list[Claim] = []
    allocated: list[Claim] = []
    unmade: list[str] = []
    came_from: list[str] = []
    entries = _entries(thing)
    if not entries:
        raise NotThere(f"pod {key} uses no claims.", remedy="Name a pod with spec.resourceClaims, or a claim.")
    made = _made(situation, key, thing)
    for entry in entries:
        wanted = str(entry.get("name"))
        template = entry.get("resourceClaimTemplateName")
        if template:
            came_from.append(str(template))
        if wanted in made:
            named = made[wanted]
            if named is None:
                continue
            if named not in situation.claims:
                raise NotThere(f"pod {key} uses the claim {named}, which is not there.", remedy=_remedy("--claims"))
            claim = read_claim(situation.claims[named])
            (pending if claim.taken is None else allocated).append(claim)
            continue
        if f"{namespace}/{template}" not in situation.raw_templates:
            raise NotThere(
                f"pod {key} waits for a claim from the template {namespace}/{template}, which is not there.",
                remedy="Create the template, or add it to the files.",
            )
        unmade.append(f"{namespace}/{name}-{wanted}")
        pending.append(
            _from_template(situation.raw_templates[f"{namespace}/{template}"], namespace, f"{name}-{wanted}")
        )
    return Subject("pod", key, tuple(pending), tuple(allocated), tuple(unmade), tuple(came_from))


def _entries(pod: Plain) -> Sequence[Plain]:
    return _items(pod, "spec", "resourceClaims")


def _made(situation: Situation, key: str, pod: Plain) -> dict[str, str | None]:
    """Name in the pod → key of the claim, for those there are; None where the pod needs none."""
    namespace, _, name = key.partition("/")
    found: dict[str, str | None] = {}
    for claim, thing in situation.claims.items():
        wanted = _strings(thing, "annotations").get(POD_CLAIM)
        owners = [one.get("name") for one in _items(thing, "metadata", "ownerReferences") if one.get("kind") == "Pod"]
        if wanted and owners == [name] and claim.partition("/")[0] == namespace:
            found[wanted] = claim
    for status in _items(pod, "status", "resourceClaimStatuses"):
        given = status.get("resourceClaimName")
        found[str(status.get("name"))] = f"{namespace}/{given}" if given else None
    for entry in _entries(pod):
        if entry.get("resourceClaimName"):
            found[str(entry.get("name"))] = f"{namespace}/{entry['resourceClaimName']}"
    return found


def _claims_of(situation: Situation, key: str, pod: Plain) -> list[str]:
    return [claim for claim in _made(situation, key, pod).values() if claim] if _entries(pod) else []


def _came_from(situation: Situation, key: str, users: Sequence[str]) -> tuple[str, ...]:
    found = []
    for pod in users:
        thing = situation.pods[pod]
        made = _made(situation, pod, thing)
        found += [
            str(entry["resourceClaimTemplateName"])
            for entry in _entries(thing)
            if entry.get("resourceClaimTemplateName") and made.get(str(entry.get("name"))) == key
        ]
    if found:
        return tuple(found)
    namespace = key.partition("/")[0]
    spec = situation.claims[key].get("spec")
    return tuple(
        name.partition("/")[2]
        for name, thing in situation.raw_templates.items()
        if name.partition("/")[0] == namespace and _dig(thing, "spec", "spec") == spec
    )


def _from_template(thing: Plain, namespace: str, name: str) -> Claim:
    inner = _dig(thing, "spec", "spec")
    if not isinstance(inner, Mapping):
        raise Malformed(f"ResourceClaimTemplate {_key(thing)}", "spec.spec is missing")
    return read_claim({"kind": "ResourceClaim", "metadata": {"namespace": namespace, "name": name}, "spec": inner})


def _find(kind: str, name: str, known: Mapping[str, Any], option: str) -> str:
    if name in known:
        return name
    found = sorted(key for key in known if key.partition("/")[2] == name)
    if len(found) == 1:
        return found[0]
    if found:
        raise NotThere(f"{kind} {name} is in several namespaces.", remedy=f"Write one of {', '.join(found)}.")
    there = ", ".join(sorted(known)[:8]) + (", …" if len(known) > 8 else "")
    raise NotThere(
        f"there is no {kind} {name}; there {'is' if len(known) == 1 else 'are'} {there or 'none'}.",
        remedy=_remedy(option),
    )


def _remedy(option: str) -> str:
    return f"Give its namespace and name, and a file that has it ({option})."


def _named(world: World) -> tuple[Node, ...]:
    """The nodes that slices name; for devices of all nodes any one will do.

    Their labels are not known, so nothing may ask for them.
    """
    scopes: list[Slice | Device] = [*world.slices, *(device for slice in world.slices for device in slice.devices)]
    if any(one.node_selector is not None for one in scopes):
        raise Malformed(
            "these objects",
            "slices select nodes by their labels, and there is no Node",
            "Add what `kubectl get nodes -o yaml` prints (--nodes).",
        )
    named = {one.node_name for one in scopes} - {""}
    if not named and any(one.all_nodes for one in scopes):
        named = {"any node"}
    return tuple(Node(name) for name in sorted(named))


def _bare(thing: Plain) -> Plain:
    return {**thing, "spec": {"devices": {"requests": []}}}


def _allocation(thing: Plain) -> Plain:
    found = _dig(thing, "status", "allocation")
    return found if isinstance(found, Mapping) else {}


def _users(thing: Plain) -> tuple[str, ...]:
    namespace = _key(thing).partition("/")[0]
    reserved = _items(thing, "status", "reservedFor")
    return tuple(f"{namespace}/{one.get('name')}" for one in reserved if one.get("resource") == "pods")


def _key(thing: Plain) -> str:
    metadata = thing.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        raise Malformed(str(thing.get("kind")), "metadata.name is missing")
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def _strings(thing: Plain, key: str) -> Mapping[str, str]:
    found = _dig(thing, "metadata", key)
    return found if isinstance(found, Mapping) else {}


def _items(thing: Plain, *keys: str) -> Sequence[Plain]:
    found = _dig(thing, *keys)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _dig(thing: Any, *keys: str) -> Any:
    """What lies below these keys; None where there is no such thing."""
    for key in keys:
        if not isinstance(thing, Mapping):
            return None
        thing = thing.get(key)
    return thing
