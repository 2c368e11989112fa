"""Pods and the claims they name: that these exist, that a container gets them, that it gets as many as it expects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import CLAIM, TEMPLATE, asked, claim_spec, containers, pod_specs
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.speak import close, listed, several
from policy.rules.view import UNKNOWN, View
from topology.profiles import PROFILES

_NPU_CLASSES = frozenset(known.device_class for known in PROFILES.values())

_POD_FIELDS = ("resourceClaims",)
_ENTRY_FIELDS = ("name", "resourceClaimName", "resourceClaimTemplateName", "source")


def _misspelt(view: View, known: tuple[str, ...]) -> Iterator[Finding]:
    """Keys that differ from a known one in their capitals only: the API server knows none of them."""
    for key, inner in view.entries():
        meant = next((one for one in known if one.lower() == key.lower() and one != key), None)
        if meant is not None:
            yield Finding(
                inner.path,
                f"There is no field {key}; kubectl refuses it, and elsewhere it is dropped without a word.",
                f"Write {meant}.",
            )


def _references(subject: Subject, context: Context) -> Iterator[Finding]:
    for spec in pod_specs(subject):
        names: list[str] = []
        misspelt = list(_misspelt(spec, _POD_FIELDS))
        yield from misspelt
        if misspelt:
            continue
        for entry in spec.at("resourceClaims").items():
            name = entry.at("name").text()
            if name is not None:
                names.append(name)
            misspelt = list(_misspelt(entry, _ENTRY_FIELDS))
            yield from misspelt or _source(entry, subject, context)
        if spec.at("resourceClaims").value is UNKNOWN:
            continue
        used: set[str] = set()
        for container in containers(spec):
            for claim in container.at("resources", "claims").items():
                name = claim.at("name").text()
                if name is None:
                    continue
                used.add(name)
                if name not in names and not all(one.known() for one in _name_views(spec)):
                    continue
                if name not in names:
                    yield Finding(
                        claim.at("name").path,
                        f"The container names a claim {name} that the pod does not have.",
                        f"Write one of {listed(names)}." if names else "Add it to the pod's resourceClaims.",
                    )
                else:
                    yield from _request(claim, name, spec, subject, context)
        if not all(_claims_known(container) for container in containers(spec)):
            continue
        for name in names:
            if name not in used:
                yield _unused(name, spec, subject, context)


def _claims_known(container: View) -> bool:
    return container.at("resources", "claims").plain_known()


def _name_views(spec: View) -> Iterator[View]:
    for entry in spec.at("resourceClaims").items():
        yield entry
        yield entry.at("name")


def _unused(name: str, spec: View, subject: Subject, context: Context) -> Finding:
    """A network device is for the pod as a whole, an NPU is not; of other drivers that is not known here."""
    source = _claimed(name, spec, subject, context)
    devices = claim_spec(source) if source is not None else None
    classes = [one.at.at("deviceClassName").text() or "" for one in asked(devices)] if devices is not None else []
    npus = bool(classes) and all(any(_is_npu(one, known) for known in _NPU_CLASSES) for one in classes)
    return Finding(
        spec.at("resourceClaims").path,
        f"No container uses the claim {name}: its devices are taken, and no container gets them.",
        f"Add resources: {{claims: [{{name: {name}}}]}} to the container, unless the devices are the pod's as a whole.",
        Level.WARNING if npus else Level.NOTE,
    )


def _is_npu(name: str, known: str) -> bool:
    return name == known or name.endswith(f".{known}")


def _source(entry: View, subject: Subject, context: Context) -> Iterator[Finding]:
    if "source" in (entry.value if isinstance(entry.value, dict) else {}):
        yield Finding(
            entry.at("source").path,
            "`source` is the shape of Kubernetes up to 1.30; it is dropped or refused since.",
            "Write resourceClaimName or resourceClaimTemplateName beside the name.",
        )
        return
    if not entry.known():
        return
    both = [entry.at(key) for key in ("resourceClaimTemplateName", "resourceClaimName")]
    if [view.absent for view in both] != [False, True] and [view.absent for view in both] != [True, False]:
        yield Finding(
            entry.path,
            "A pod's claim has exactly one of resourceClaimName and resourceClaimTemplateName.",
            "Write one of them.",
        )
        return
    view, kind = (both[0], TEMPLATE) if not both[0].absent else (both[1], CLAIM)
    name = view.text()
    if name is None:
        return
    place = context.namespace_of(subject)
    homes = context.named(kind, name)
    if place in homes or name in context.fleet.templates:
        return
    if not context.all_placed(kind) or not subject.is_placed():
        return
    elsewhere = sorted(homes)
    there = {one.name for one in context.of(kind) if one.name and context.namespace_of(one) == place}
    ours = close(name, sorted(context.fleet.templates), all_known=True)
    meant = (ours or close(name, sorted(there))) if not elsewhere else None
    if elsewhere:
        yield Finding(
            view.path,
            f"{kind} {name} is in namespace {listed(elsewhere)}, and the pod in {place}: a pod finds claims of its own "
            "namespace only.",
            f"Put it into {place}.",
        )
    elif meant is not None:
        yield Finding(view.path, f"There is no {kind} {name} in namespace {place}.", f"Did you mean {meant}?")
    else:
        yield Finding(
            view.path,
            f"{kind} {name} is not among these objects; whether namespace {place} has it is not known from here.",
            f"`kubectl -n {place} get {kind.lower()} {name}`",
            Level.NOTE,
        )


def _claimed(name: str, spec: View, subject: Subject, context: Context) -> Subject | None:
    """The claim or template behind a pod's claim, if it is among the objects."""
    for entry in spec.at("resourceClaims").items():
        if entry.at("name").text() != name:
            continue
        for kind, key in ((TEMPLATE, "resourceClaimTemplateName"), (CLAIM, "resourceClaimName")):
            wanted = entry.at(key).text()
            found = context.named(kind, wanted).get(context.namespace_of(subject)) if wanted else None
            if found is not None:
                return found
    return None


def _request(claim: View, name: str, spec: View, subject: Subject, context: Context) -> Iterator[Finding]:
    wanted = claim.at("request").text()
    source = _claimed(name, spec, subject, context)
    devices = claim_spec(source) if source is not None else None
    if not wanted or devices is None or source is None or devices.plain() is None:
        return
    known = [text for one in devices.at("requests").items() if (text := one.at("name").text()) is not None]
    request, slash, _ = wanted.partition("/")
    if slash and request in known:
        # The API server takes a name without a slash (validateResourceClaimNames), and drivers report the request's.
        yield Finding(
            claim.at("request").path,
            f"{wanted} names an alternative; a container names a request, and gets whichever alternative is taken.",
            f"Write {request}.",
        )
    elif wanted not in known:
        yield Finding(
            claim.at("request").path,
            f"{source.kind} {source.name} has no request {wanted}.",
            f"It has {listed(known)}.",
        )


_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: job}}
spec:
  containers:
  - name: train
    image: registry.example/train:1
    command: [torchrun, --nproc-per-node={}, train.py]
    resources:
      claims: [{{name: npus}}]
  resourceClaims:
  - name: npus
    resourceClaimTemplateName: {}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: npu-box16-8}}
spec:
  spec:
    devices:
      requests:
      - name: npu
        exactly: {{deviceClassName: npu.huawei.com, count: 8}}
"""

REFERENCES = Rule(
    id="pod-claims",
    title="A pod names claims and templates that are there, and a container uses each",
    why="A pod whose template is missing stays Pending without a claim; a container that does not list the claim under "
    "resources.claims gets none of its devices, although they are taken.",
    group=Group.CLAIMS,
    remedy="Name the template in the pod's namespace, and list the claim in the container.",
    check=_references,
    whole=True,
    complies=Example(_POD.format(8, "npu-box16-8")),
    violates=Example(_POD.format(8, "npu-box16-08")),
)

_FLAG = re.compile(r"--(?:nproc[-_]per[-_]node|tensor[-_]parallel[-_]size|tp[-_]size)(?:[= ](\d+))?")
_VARIABLES = ("NPROC_PER_NODE", "LOCAL_WORLD_SIZE")


def _expected(container: View) -> Iterator[tuple[View, str, int]]:
    """(where, what says it, how many devices) a container expects."""
    for key in ("command", "args"):
        words = container.at(key).items()
        for index, word in enumerate(words):
            text = word.text() or ""
            for found in _FLAG.finditer(text):
                after = words[index + 1].text() if index + 1 < len(words) and found.end() == len(text) else None
                number = found[1] or after or ""
                if number.isdigit():
                    yield word, found[0].partition("=")[0].partition(" ")[0], int(number)
    for variable in container.at("env").items():
        name, value = variable.at("name").text(), variable.at("value").text()
        if name in _VARIABLES and value is not None and value.isdigit():
            yield variable.at("value"), name, int(value)


def _counts(subject: Subject, context: Context) -> Iterator[Finding]:
    for spec in pod_specs(subject):
        for container in containers(spec):
            given = _given(container, spec, subject, context)
            for where, says, number in _expected(container) if given is not None else ():
                least, most = given or (0, 0)
                if not least <= number <= most:
                    yield Finding(
                        where.path,
                        f"{says} expects {several(number, 'device')}, and the claims give the container "
                        f"{least if least == most else f'{least} to {most}'}.",
                        "Use a template of that count, or correct the number.",
                    )


def _given(container: View, spec: View, subject: Subject, context: Context) -> tuple[int, int] | None:
    """The fewest and the most devices that its claims give it; None where a claim is not among the objects."""
    least = most = 0
    claims = container.at("resources", "claims").items()
    for claim in claims:
        source = _claimed(claim.at("name").text() or "", spec, subject, context)
        devices = claim_spec(source) if source is not None else None
        if devices is None or devices.plain() is None:
            return None
        wanted = claim.at("request").text()
        for request in devices.at("requests").items():
            if wanted and request.at("name").text() != wanted:
                continue
            alternatives = request.at("firstAvailable").items() or [request.at("exactly")]
            if any(one.at("allocationMode").text() == "All" or one.value is UNKNOWN for one in alternatives):
                return None
            counts = [one.at("count").number() or 1 for one in alternatives]
            least, most = least + min(counts), most + max(counts)
    return (least, most) if claims else None


COUNTS = Rule(
    id="pod-device-count",
    title="A container gets as many devices as it starts processes for",
    why="The number of devices stands in the claim, that of processes in the command: torchrun's --nproc-per-node, "
    "--tensor-parallel-size, NPROC_PER_NODE. Where they differ, the job fails at its start or leaves devices idle.",
    group=Group.CLAIMS,
    remedy="Use the template whose name has that count.",
    check=_counts,
    prod=Level.WARNING,
    whole=True,
    complies=Example(_POD.format(8, "npu-box16-8")),
    violates=Example(_POD.format(4, "npu-box16-8")),
)

RULES = (REFERENCES, COUNTS)
