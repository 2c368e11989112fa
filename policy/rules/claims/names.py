"""Names inside a claim: of requests, in constraints, of PCI addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import SLICE, asked, claim_spec, is_v1, selectors
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.speak import close, listed
from policy.rules.view import View
from settings.values import DNS_LABEL


def _names(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    devices = claim_spec(subject)
    if devices is None:
        return
    known: list[str] = []
    for request in devices.at("requests").items():
        yield from _own_name(request, known)
        own: list[str] = []
        for one in request.at("firstAvailable").items():
            yield from _own_name(one, own)
        known += [f"{request.at('name').text()}/{name}" for name in own]
    if not all(one.known() for one in _name_views(devices)):
        # One of them may be what is referred to.
        return
    for key in ("constraints", "config"):
        for entry in devices.at(key).items():
            yield from _references(entry.at("requests"), known)


def _name_views(devices: View) -> Iterator[View]:
    yield devices.at("requests")
    for request in devices.at("requests").items():
        yield request
        yield request.at("name")
        yield request.at("firstAvailable")
        for one in request.at("firstAvailable").items():
            yield one.at("name")


def _own_name(request: View, before: list[str]) -> Iterator[Finding]:
    view = request.at("name")
    name = view.text()
    if name is None:
        if view.absent:
            yield Finding(
                request.path, "The request has no name.", "Write name: with lower-case letters, digits, dashes."
            )
        return
    if not DNS_LABEL.fullmatch(name):
        yield Finding(
            view.path,
            f"{name!r} cannot be a request's name.",
            "Use up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends.",
        )
    if name in before:
        yield Finding(view.path, f"Two requests are called {name}.", "Give each a name of its own.")
    before.append(name)


def _references(view: View, known: list[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for one in view.items():
        name = one.text()
        if name is None:
            continue
        if "," in name:
            parts = [part.strip() for part in name.split(",") if part.strip()]
            yield Finding(
                one.path,
                "Several requests are joined by commas into one text, as in oFEP-0062; the API server takes it for the "
                "name "
                "of one request and refuses it.",
                f"Write a list item for each: [{', '.join(parts)}].",
            )
        elif name not in known:
            meant = close(name, known)
            yield Finding(
                one.path,
                f"There is no request {name!r} in this claim.",
                f"Did you mean {meant}?" if meant else f"It has {listed(known) or 'none'}.",
            )
        if name in seen:
            yield Finding(one.path, f"{name} is listed twice.", "Remove one.")
        seen.add(name)


_PAIR = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair}
spec:
  devices:
    requests:
    - name: npu-1
      exactly: {deviceClassName: npu.huawei.com}
    - name: npu-2
      exactly: {deviceClassName: npu.huawei.com}
    constraints:
    - matchAttribute: npu.huawei.com/topoHccsRingID
      requests: """

NAMES = Rule(
    id="request-names",
    title="Requests have distinct names, and constraints and configurations name requests that are there",
    why="Each entry of `requests` is the name of one request, or request/alternative. The proposal oFEP-0062 joins "
    "them with commas into one text, which the API server refuses.",
    group=Group.CLAIMS,
    remedy="One list item for each request.",
    check=_names,
    complies=Example(_PAIR + "[npu-1, npu-2]\n"),
    violates=Example(_PAIR + '["npu-1,npu-2"]\n'),
)

# A colon where a dot belongs before the function.
_COLONS = re.compile(r"(?<![0-9A-Za-z:.])([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}):([0-7])(?![0-9A-Za-z:.])")


def _bus_ids(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for expression in selectors(subject):
        yield from _bus_id(expression)
    if is_v1(subject, SLICE):
        for device in subject.view.at("spec", "devices").items():
            for _, attribute in device.at("attributes").entries():
                yield from _bus_id(attribute.at("string"))


def _bus_id(view: View) -> Iterator[Finding]:
    found = _COLONS.search(view.text() or "")
    if found is not None:
        yield Finding(
            view.path,
            f"{found[0]} is no PCI address as drivers publish it, domain:bus:device.function; it equals none of them.",
            f"Write {found[1]}.{found[2]}.",
        )


_BUS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: that-one}}
spec:
  devices:
    requests:
    - name: npu
      exactly:
        deviceClassName: npu.huawei.com
        selectors:
        - cel:
            expression: device.attributes["resource.kubernetes.io"].?pciBusID.orValue("") == "{}"
"""

BUS_IDS = Rule(
    id="pci-bus-id",
    title="PCI addresses end in a dot and the function",
    why="The DRA helper library publishes pciBusID as domain:bus:device.function, 0000:81:00.0; the sample of "
    "oFEP-0062, 0000:81:00:0, equals no device.",
    group=Group.CLAIMS,
    remedy="Write a dot before the function.",
    check=_bus_ids,
    complies=Example(_BUS.format("0000:81:00.0")),
    violates=Example(_BUS.format("0000:81:00:0")),
)


def _numa(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    devices = claim_spec(subject)
    if devices is None:
        return
    named: dict[str, View] = {}
    for constraint in devices.at("constraints").items():
        view = constraint.at("matchAttribute")
        text = view.text()
        if text is not None and text.rpartition("/")[2].lower() in ("numanode", "numa"):
            named.setdefault(text, view)
    if len(named) > 1 and len(asked(devices)) > 1:
        *_, last = named.values()
        yield Finding(
            last.path,
            f"NUMA nodes are matched by {listed(named)}: numbers under two names are never compared with each other, "
            "so the "
            "devices of one may be on another node than those of the other.",
            "Match them all by one name, resource.kubernetes.io/numaNode where every driver publishes it (a standard "
            "since "
            "Kubernetes 1.37).",
            None if "resource.kubernetes.io/numaNode" in named else Level.WARNING,
        )


_NUMA = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: near}}
spec:
  devices:
    requests:
    - name: npu
      exactly: {{deviceClassName: npu.huawei.com}}
    - name: nic
      exactly: {{deviceClassName: nic.example}}
    constraints:
    - matchAttribute: resource.kubernetes.io/numaNode
      requests: [nic{}]
{}"""

NUMA = Rule(
    id="numa-names",
    title="One claim matches NUMA nodes by one attribute",
    why="A driver's own numaNode and the standard one (resource.kubernetes.io/numaNode, KEP-6072) are two "
    "attributes: a constraint on one says nothing of the other, although both are called the same.",
    group=Group.CLAIMS,
    remedy="Use the name that all the drivers of the claim publish.",
    check=_numa,
    complies=Example(_NUMA.format(", npu", "")),
    violates=Example(_NUMA.format("", "    - matchAttribute: npu.huawei.com/numaNode\n      requests: [npu]\n")),
)

RULES = (NAMES, BUS_IDS, NUMA)
