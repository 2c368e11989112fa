"""Rules as CEL. A policy sees one object, after the API server has found it valid and filled in its defaults.

So here is no rule that the API server itself holds (shape, limits, names of requests, admin access), and none that
needs slices, classes or other objects. What is found is said in the words of the rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from policy.rules.claims.attributes import names
from policy.rules.claims.shape import MOST
from topology.profiles import DriverProfile

CLAIM, TEMPLATE, CLASS, TAINT = "resourceclaims", "resourceclaimtemplates", "deviceclasses", "devicetaintrules"
CLAIMS = (CLAIM, TEMPLATE)

_SPEC = {CLAIM: "object.spec", TEMPLATE: "object.spec.spec", CLASS: "object.spec", TAINT: "object.spec"}


@dataclass(frozen=True)
class Check:
    """expression: true for what complies. message: an expression too. variables: in their order, each may use those
    before it."""

    expression: str
    message: str
    variables: Mapping[str, str] = field(default_factory=dict)


Maker = Callable[[str, DriverProfile], Check]
"""Of a resource, and the profile whose attributes are known."""


def _lists(resource: str, *wanted: str) -> dict[str, str]:
    """The claim's lists as variables of their names, empty where they are missing."""
    place = f"{_SPEC[resource]}.devices"
    return {name: f"has({place}) && has({place}.{name}) ? {place}.{name} : []" for name in wanted}


def _count(one: str) -> str:
    return f"(has({one}.count) && {one}.count > 0 ? {one}.count : 1)"


def _all(one: str) -> str:
    return f"(has({one}.allocationMode) && {one}.allocationMode == 'All')"


def devices(resource: str, profile: DriverProfile) -> Check:
    """claim-devices: with the smallest alternatives."""
    del profile
    alternatives = f"r.firstAvailable.filter(s, !{_all('s')})"
    least = (
        f"variables.requests.map(r, has(r.exactly) ? ({_all('r.exactly')} ? 0 : {_count('r.exactly')}) : "
        f"(has(r.firstAvailable) && {alternatives}.size() > 0 ? "
        f"{alternatives}.map(s, {_count('s')}).min() : 0)).sum()"
    )
    return Check(
        f"variables.least <= {MOST}",
        f"'The requests add up to ' + string(variables.least) + ' devices, and a claim holds {MOST}: no node can ever "
        "satisfy it. Ask for fewer, or with several claims where no constraint has to join them.'",
        _lists(resource, "requests") | {"least": least},
    )


def _texts(resource: str) -> dict[str, str]:
    """All CEL expressions of the object in one text, a line for each."""

    def joined(place: str) -> str:
        return (
            f"(has({place}.selectors) ? {place}.selectors.map(s, has(s.cel) ? s.cel.expression : '').join('\\n') : '')"
        )

    if resource == CLASS:
        return {"texts": joined("object.spec")}
    exactly = f"(has(r.exactly) ? {joined('r.exactly')} : '')"
    first = f"(has(r.firstAvailable) ? r.firstAvailable.map(a, {joined('a')}).join('\\n') : '')"
    texts = f"variables.requests.map(r, {exactly} + '\\n' + {first}).join('\\n')"
    return _lists(resource, "requests") | {"texts": texts}


_ADDRESS = "[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}:[0-7]"
_APART = "[^0-9A-Za-z:.]"


def bus_ids(resource: str, profile: DriverProfile) -> Check:
    """pci-bus-id."""
    del profile
    found = f"variables.texts.find(r'(^|{_APART}){_ADDRESS}($|{_APART})').find(r'{_ADDRESS}')"
    right = "variables.found.substring(0, 10) + '.' + variables.found.substring(11)"
    return Check(
        "variables.found == ''",
        "variables.found + ' is no PCI address as drivers publish it, domain:bus:device.function; it equals none of "
        f"them. Write ' + {right} + '.'",
        _texts(resource) | {"found": found},
    )


def form(resource: str, profile: DriverProfile) -> Check:
    """cel-attribute-form: a domain has no slash."""
    del profile
    quoted = r"""device\s*\.\s*attributes\s*\[\s*["'][^"'/\s]+/[^"'/\s]+["']"""
    # In triple quotes: both kinds are in it.
    found = f"variables.texts.find(r'''{quoted}''').find(r'''[^\"'/\\s]+/[^\"'/\\s]+''')"
    parts = "variables.domain.split('/')"
    return Check(
        "variables.domain == ''",
        "'device.attributes[\"' + variables.domain + '\"] is always empty: the index is a domain, and the name stands "
        "after it. Reading anything there is an error on every device, and the pod fails on every node. Write "
        f"device.attributes[\"' + {parts}[0] + '\"].' + {parts}[1] + ', which is the value itself.'",
        _texts(resource) | {"domain": found},
    )


def all_mode(resource: str, profile: DriverProfile) -> Check:
    """all-mode."""
    del profile
    exactly = (
        f"(has(r.exactly) && {_all('r.exactly')} && !(has(r.exactly.adminAccess) && r.exactly.adminAccess) ? "
        "[r.name] : [])"
    )
    first = f"(has(r.firstAvailable) ? r.firstAvailable.filter(s, {_all('s')}).map(s, r.name + '/' + s.name) : [])"
    found = f"variables.requests.filter(r, size({exactly} + {first}) > 0).map(r, ({exactly} + {first})[0])"
    return Check(
        "variables.found.size() == 0",
        "'Request ' + variables.found[0] + ' asks for all devices of a node: one that is in use or tainted rules the "
        "node out, and an incomplete pool on any node fails the pod on all of them. Write allocationMode: ExactCount "
        "and the count, unless it really is all or nothing.'",
        _lists(resource, "requests") | {"found": found},
    )


def published(resource: str, profile: DriverProfile) -> Check:
    """constraint-attribute: of those in the driver's own domain, by the names of its profile."""
    known = json.dumps(names(profile))
    attributes = (
        "variables.constraints.filter(c, has(c.matchAttribute)).map(c, c.matchAttribute) + "
        "variables.constraints.filter(c, has(c.distinctAttribute)).map(c, c.distinctAttribute)"
    )
    unknown = f"variables.attributes.filter(a, a.startsWith('{profile.driver}/') && !(a in {known}))"
    return Check(
        "variables.unknown.size() == 0",
        f"'The driver profile {profile.name} publishes no ' + variables.unknown[0] + '. It has "
        f"{', '.join(names(profile))}.'",
        _lists(resource, "constraints") | {"attributes": attributes, "unknown": unknown},
    )


_STANDARD = "resource.kubernetes.io/numaNode"


def numa(resource: str, profile: DriverProfile) -> Check:
    """numa-names: where the standard name is one of them. Two drivers' own names may be meant."""
    del profile
    matched = (
        "variables.constraints.filter(c, has(c.matchAttribute) && "
        "c.matchAttribute.lowerAscii().matches('(^|/)(numanode|numa)$')).map(c, c.matchAttribute)"
    )
    asked = (
        "variables.requests.map(r, has(r.firstAvailable) && r.firstAvailable.size() > 0 ? r.firstAvailable.size() : 1)"
        ".sum()"
    )
    return Check(
        f"!('{_STANDARD}' in variables.matched) || variables.others.size() == 0 || variables.asked < 2",
        "'NUMA nodes are matched by ' + variables.matched[0] + ' and ' + variables.others[0] + ': numbers under two "
        "names are never compared with each other, so the devices of one may be on another node than those of the "
        "other. Match them all by one name, resource.kubernetes.io/numaNode where every driver publishes it (a "
        "standard since Kubernetes 1.37).'",
        _lists(resource, "requests", "constraints")
        | {
            "matched": matched,
            "others": "variables.matched.filter(a, a != variables.matched[0])",
            "asked": asked,
        },
    )


def taints(resource: str, profile: DriverProfile) -> Check:
    """taint-rule-selector."""
    del resource, profile
    chosen = " || ".join(f"has(object.spec.deviceSelector.{key})" for key in ("driver", "pool", "device"))
    return Check(
        f"!has(object.spec.deviceSelector) || {chosen}",
        "'An empty deviceSelector selects every device of every driver: the whole fleet is tainted at once. Name "
        "driver, pool or device. Without deviceSelector the rule selects nothing.'",
    )


CHECKS: Mapping[str, tuple[tuple[str, ...], Maker]] = {
    "claim-devices": (CLAIMS, devices),
    "pci-bus-id": ((*CLAIMS, CLASS), bus_ids),
    "cel-attribute-form": ((*CLAIMS, CLASS), form),
    "constraint-attribute": (CLAIMS, published),
    "numa-names": (CLAIMS, numa),
    "all-mode": (CLAIMS, all_mode),
    "taint-rule-selector": ((TAINT,), taints),
}
"""Rule → the resources that it is put to, and its CEL for one of them."""
