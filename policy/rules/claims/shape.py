"""What the API server refuses of a claim's shape, said before it does: versions, fields, limits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from policy.rules.claims.schema import ASKED, SHAPES, misplaced
from policy.rules.context import Context
from policy.rules.find import CLAIM, CLASS, GROUP, SLICE, TEMPLATE, asked, claim_spec, is_v1, selectors
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.speak import listed
from policy.rules.view import View
from settings.capabilities import VERSIONS, Capabilities, Version

_TAINT_RULES_SINCE: Version = "1.37"
"""The version that has DeviceTaintRule in v1, and on by default (resource/v1 types.go)."""

_KINDS = (CLAIM, TEMPLATE, CLASS, SLICE, "DeviceTaintRule")

MOST = 32
"""Requests, constraints, configurations, selectors and devices of one claim, each (resource/v1 types.go)."""


def _version(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.group != GROUP or subject.kind not in _KINDS:
        return
    version = subject.api_version.rpartition("/")[2]
    if version == "v1":
        if subject.kind == "DeviceTaintRule":
            yield from _taint_rule(context.cluster)
        return
    if subject.kind == "DeviceTaintRule":
        yield Finding(
            ("apiVersion",),
            f"{subject.api_version} is not served unless --runtime-config turns it on, and DeviceTaintRule is in "
            "resource.k8s.io/v1 from Kubernetes 1.37 on.",
            "Write apiVersion: resource.k8s.io/v1 and deploy it to 1.37 or later.",
        )
        return
    shape = " In v1 the fields of a request stand below `exactly`." if version in ("v1beta1", "v1alpha3") else ""
    yield Finding(
        ("apiVersion",),
        f"{subject.api_version} is not served by default from Kubernetes 1.34 on, where resource.k8s.io/v1 is; the "
        "rest of "
        "this object is not judged unless it has the shape of v1.",
        f"Write apiVersion: resource.k8s.io/v1.{shape}",
    )


def _taint_rule(cluster: Capabilities | None) -> Iterator[Finding]:
    if cluster is None:
        yield Finding(
            ("apiVersion",),
            f"resource.k8s.io/v1 has DeviceTaintRule from Kubernetes {_TAINT_RULES_SINCE} on.",
            "Say which version it is for.",
            Level.NOTE,
        )
    elif VERSIONS.index(cluster.version) < VERSIONS.index(_TAINT_RULES_SINCE):
        yield Finding(
            ("apiVersion",),
            f"Kubernetes {cluster.version} has no DeviceTaintRule in resource.k8s.io/v1: «no matches for kind».",
            f"Deploy it to {_TAINT_RULES_SINCE} or later.",
        )


API_VERSION = Rule(
    id="api-version",
    title="Objects of the resource API are resource.k8s.io/v1",
    why="From Kubernetes 1.34 on the API server serves only v1 by default; v1beta1, v1beta2 and v1alpha3 need "
    "--runtime-config. A chart that still renders v1beta1 ends with «no matches for kind».",
    group=Group.CLAIMS,
    remedy="Write apiVersion: resource.k8s.io/v1, and move the fields of a v1beta1 request below `exactly`.",
    check=_version,
    complies=Example("""\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: npu.huawei.com}
spec:
  selectors:
  - cel: {expression: device.driver == "npu.huawei.com"}
"""),
    violates=Example("""\
apiVersion: resource.k8s.io/v1beta1
kind: DeviceClass
metadata: {name: npu.huawei.com}
spec:
  selectors:
  - cel: {expression: device.driver == "npu.huawei.com"}
"""),
)


def _shape(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if is_v1(subject, *SHAPES):
        yield from misplaced(subject.view, SHAPES[subject.kind], subject.kind)
    devices = claim_spec(subject)
    if devices is None:
        return
    for request in devices.at("requests").items():
        alternatives, exactly = request.at("firstAvailable"), request.at("exactly")
        if not (alternatives.known() and exactly.known()):
            continue
        if not alternatives.absent and not exactly.absent:
            yield Finding(request.path, "The request has both exactly and firstAvailable.", "Write one of them.")
        elif alternatives.absent and exactly.absent and isinstance(request.value, Mapping):
            flat = [key for key, _ in request.entries() if key in ASKED]
            why = f" {listed(flat)} stood beside the name in v1beta1." if flat else ""
            yield Finding(
                request.path,
                f"The request has neither exactly nor firstAvailable, so it asks for nothing.{why}",
                "Write its fields below exactly:.",
            )
    for one in asked(devices):
        yield from _mode(one.at)
        if one.at.at("deviceClassName").absent:
            yield Finding(
                one.at.path, "deviceClassName is missing; each request names a class.", "Write deviceClassName."
            )
        if one.alternative and not one.at.at("adminAccess").absent:
            yield Finding(
                one.at.at("adminAccess").path,
                "An alternative of firstAvailable has no adminAccess.",
                "Ask for admin access with exactly.",
            )
    for constraint in devices.at("constraints").items():
        yield from _attribute_of(constraint)


def _mode(request: View) -> Iterator[Finding]:
    mode, count = request.at("allocationMode").text(), request.at("count").number()
    if mode == "All" and count:
        yield Finding(request.at("count").path, "allocationMode All takes no count.", "Remove count, or the mode.")
    elif mode not in (None, "All", "ExactCount"):
        yield Finding(
            request.at("allocationMode").path,
            f"There is no allocationMode {mode}.",
            "Write ExactCount or All.",
        )
    elif mode != "All" and count is not None and count < 1:
        yield Finding(request.at("count").path, f"count is {count}; it must be above zero.", "Write 1 or more.")


def _attribute_of(constraint: View) -> Iterator[Finding]:
    if not isinstance(constraint.value, Mapping):
        return
    match, distinct = constraint.at("matchAttribute"), constraint.at("distinctAttribute")
    if match.absent == distinct.absent:
        yield Finding(
            constraint.path,
            "A constraint has exactly one of matchAttribute and distinctAttribute.",
            "Write a constraint for each." if not match.absent else "Write matchAttribute: domain/name.",
        )
    for attribute in (match, distinct):
        text = attribute.text()
        if text is not None and not all(text.partition("/")):
            yield Finding(
                attribute.path,
                f"{text!r} has no domain; the API server takes only domain/name here.",
                f"Write the driver's name before it, such as npu.huawei.com/{text.strip('/') or 'numaNode'}.",
            )


SHAPE = Rule(
    id="claim-shape",
    title="A claim has the fields that the API knows, each where it belongs",
    why="resource.k8s.io/v1 refuses a request with neither or both of exactly and firstAvailable, a count beside "
    "All, an attribute without its domain. Unknown fields are worse: Pulumi's provider drops them without a word, so "
    "a misspelt constraint is no constraint.",
    group=Group.CLAIMS,
    remedy="Write the field as resource.k8s.io/v1 has it.",
    check=_shape,
    complies=Example("""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair}
spec:
  spec:
    devices:
      requests:
      - name: npu
        exactly: {deviceClassName: npu.huawei.com, count: 2}
      constraints:
      - matchAttribute: npu.huawei.com/topoHccsRingID
"""),
    violates=Example("""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair}
spec:
  spec:
    devices:
      requests:
      - name: npu
        deviceClassName: npu.huawei.com
        count: 2
      constraints:
      - matchAttribute: topoHccsRingID
"""),
)

_LIMITS = (
    ("requests", MOST),
    ("constraints", MOST),
    ("config", MOST),
)
_EXPRESSION = 10 * 1024
_PARAMETERS = 10 * 1024


def _limits(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for expression in selectors(subject):
        text = expression.text()
        if text is not None and len(text.encode()) > _EXPRESSION:
            yield Finding(
                expression.path,
                f"The CEL expression has {len(text.encode()):,} bytes; {_EXPRESSION:,} are taken.",
                "Say it shorter, or with several selectors: all of them have to hold.",
            )
    devices = claim_spec(subject)
    if devices is None:
        return
    for key, most in _LIMITS:
        yield from _too_many(devices.at(key), most)
    for request in devices.at("requests").items():
        yield from _too_many(request.at("firstAvailable"), 8)
    for one in asked(devices):
        yield from _too_many(one.at.at("selectors"), MOST)
        yield from _too_many(one.at.at("tolerations"), 16)
    for key in ("constraints", "config"):
        for entry in devices.at(key).items():
            yield from _too_many(entry.at("requests"), MOST)
    for entry in devices.at("config").items():
        parameters = entry.at("opaque", "parameters").plain()
        if parameters is not None and len(json.dumps(parameters, default=str)) > _PARAMETERS:
            yield Finding(
                entry.at("opaque", "parameters").path,
                f"The parameters are larger than the {_PARAMETERS:,} bytes that are taken.",
                "Keep them in a ConfigMap and name it here.",
            )


def _too_many(view: View, most: int) -> Iterator[Finding]:
    number = len(view.items())
    if number > most:
        yield Finding(
            view.path,
            f"{number} entries; the API server takes {most}.",
            "Ask for interchangeable devices with count instead of a request for each."
            if view.path[-1] == "requests"
            else "Write fewer.",
        )


def _many(number: int) -> str:
    requests = "".join(
        f"    - name: npu-{index}\n      exactly: {{deviceClassName: npu.huawei.com}}\n" for index in range(number)
    )
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: many}\nspec:\n  devices:\n"
    return f"{head}    requests:\n{requests}"


LIMITS = Rule(
    id="claim-limits",
    title="A claim keeps within the sizes that the API server takes",
    why="32 requests, constraints and configurations a claim, 32 selectors a request, 8 alternatives, 16 "
    "tolerations, 10 KiB an expression and opaque parameters (resource/v1 types.go and its validation).",
    group=Group.CLAIMS,
    remedy="One request with a count says the same as many single ones, and costs the scheduler far less.",
    check=_limits,
    complies=Example(_many(2)),
    violates=Example(_many(MOST + 1)),
)


def how_many(devices: View) -> tuple[int, int]:
    """The fewest and the most devices that a claim asks for; those of the mode `All` are not known."""
    least = most = 0
    for request in devices.at("requests").items():
        counts = [
            one.at.at("count").number() or 1
            for one in asked(devices)
            if one.at.path[: len(request.path)] == request.path and one.at.at("allocationMode").text() != "All"
        ]
        least += min(counts, default=0)
        most += max(counts, default=0)
    return least, most


def _devices(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    devices = claim_spec(subject)
    if devices is None:
        return
    least, most = how_many(devices)
    if least > MOST:
        yield Finding(
            devices.at("requests").path,
            f"The requests add up to {least} devices, and a claim holds {MOST}: no node can ever satisfy it.",
            "Ask for fewer, or with several claims where no constraint has to join them.",
        )
    elif most > MOST:
        yield Finding(
            devices.at("requests").path,
            f"With their largest alternatives the requests add up to {most} devices, and a claim holds {MOST}: those "
            "alternatives are never taken together.",
            "Ask for fewer in them, or leave them out.",
            Level.WARNING,
        )


DEVICES = Rule(
    id="claim-devices",
    title=f"A claim asks for {MOST} devices at most",
    why="An allocation holds 32 results. The API has no ceiling for count, so such a claim is taken, and then fails "
    "the scheduling of its pod on every node. With firstAvailable the smallest alternatives have to fit, and larger "
    "ones that do not are dead.",
    group=Group.CLAIMS,
    remedy="Lower the counts.",
    check=_devices,
    complies=Example("""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: rack}
spec:
  devices:
    requests:
    - name: npu
      exactly: {deviceClassName: npu.huawei.com, count: 32}
"""),
    violates=Example("""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: rack}
spec:
  devices:
    requests:
    - name: left
      exactly: {deviceClassName: npu.huawei.com, count: 16}
    - name: right
      firstAvailable:
      - {name: many, deviceClassName: npu.huawei.com, count: 32}
      - {name: some, deviceClassName: npu.huawei.com, count: 17}
"""),
)

RULES = (API_VERSION, SHAPE, LIMITS, DEVICES)
