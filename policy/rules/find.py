"""Where objects keep their claims and their pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policy.rules.model import Subject
from policy.rules.view import UNKNOWN, View

GROUP = "resource.k8s.io"
CLAIM, TEMPLATE, CLASS, SLICE = "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"

# v1beta1 has another shape and is judged by none but the rule that refuses it; v1beta2 has the shape of v1.
_SHAPED_AS_V1 = frozenset({f"{GROUP}/v1", f"{GROUP}/v1beta2"})

_NO_PODS = frozenset({"CustomResourceDefinition", "ConfigMap", "Secret"})


@dataclass(frozen=True)
class Asked:
    """A request or alternative. name: as in an allocation, "request" or "request/alternative". at: its fields."""

    name: str
    at: View
    request: str
    alternative: bool


def is_v1(subject: Subject, *kinds: str) -> bool:
    """Whether it is one of these kinds of the resource API, in the shape of v1."""
    return subject.kind in kinds and subject.api_version in _SHAPED_AS_V1


def claim_spec(subject: Subject) -> View | None:
    """The `devices` of a claim or template; None for others and for older shapes."""
    if is_v1(subject, CLAIM):
        return subject.view.at("spec", "devices")
    if is_v1(subject, TEMPLATE):
        return subject.view.at("spec", "spec", "devices")
    return None


def asked(devices: View) -> list[Asked]:
    """Every request and alternative, in order. Requests that say neither are left out."""
    found: list[Asked] = []
    for request in devices.at("requests").items():
        name = request.at("name").text() or ""
        alternatives = request.at("firstAvailable").items()
        for one in alternatives:
            found.append(Asked(f"{name}/{one.at('name').text() or ''}", one, name, True))
        if not alternatives and isinstance(request.at("exactly").value, Mapping):
            found.append(Asked(name, request.at("exactly"), name, False))
        elif request.at("exactly").value is UNKNOWN:
            request.at("exactly").text()  # noted as unknown
    return found


def covered(constraint: View, devices: View) -> list[Asked]:
    """The requests and alternatives that a constraint binds: without a list, all."""
    names = {text for one in constraint.at("requests").items() if (text := one.text()) is not None}
    return [one for one in asked(devices) if not names or one.request in names or one.name in names]


def selectors(subject: Subject) -> Iterator[View]:
    """Every CEL expression of a claim, template or class."""
    if is_v1(subject, CLASS):
        for selector in subject.view.at("spec", "selectors").items():
            yield selector.at("cel", "expression")
    devices = claim_spec(subject)
    for one in asked(devices) if devices is not None else ():
        for selector in one.at.at("selectors").items():
            yield selector.at("cel", "expression")


def pod_specs(subject: Subject) -> Iterator[View]:
    """The specs of pods in an object of any kind, custom ones too: whatever has a list of containers."""
    if subject.kind not in _NO_PODS and subject.group != GROUP:
        yield from _pod_specs(subject.view)


def _pod_specs(view: View) -> Iterator[View]:
    if isinstance(view.value, Mapping):
        containers = view.value.get("containers")
        if isinstance(containers, list) and all(isinstance(one, Mapping) or one is UNKNOWN for one in containers):
            yield view
            return
        for key in view.value:
            if isinstance(key, str):
                yield from _pod_specs(view.at(key))
    elif isinstance(view.value, list):
        for index in range(len(view.value)):
            yield from _pod_specs(view.at(index))
    elif view.value is UNKNOWN and view.path and view.path[-1] in ("spec", "template"):
        view.text()  # noted as unknown


def containers(spec: View) -> Iterator[View]:
    """All of a pod's containers, those that run first too."""
    for kind in ("initContainers", "containers"):
        for container in spec.at(kind).items():
            if container.value is UNKNOWN:
                container.text()  # noted as unknown
            yield container
