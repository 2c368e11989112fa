"""From the engine's resources to the subjects of rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulumi_policy import PolicyResource, ResourceValidationArgs

from policy.pack.plain import plain
from policy.rules.model import Options, Subject

_PREFIX = "kubernetes:"
# Components and releases of the provider, which are no API objects themselves.
_NO_OBJECTS = ("yaml", "helm.sh/", "kustomize")


def subject_of(
    resource: ResourceValidationArgs | PolicyResource, depends_on: frozenset[str] = frozenset()
) -> Subject | None:
    """The API object that a resource is; None for all others."""
    if not resource.resource_type.startswith(_PREFIX):
        return None
    api, _, kind = resource.resource_type.removeprefix(_PREFIX).rpartition(":")
    if not api or api.startswith(_NO_OBJECTS):
        return None
    props = plain(resource.props)
    # Whatever is not known of it, its type is.
    version = props.get("apiVersion")
    named = {
        "apiVersion": version if isinstance(version, str) else api.removeprefix("core/"),
        "kind": props.get("kind") if isinstance(props.get("kind"), str) else kind.removesuffix("Patch"),
    }
    options = Options(
        protect=bool(resource.opts.protect),
        delete_before_replace=bool(resource.opts.delete_before_replace),
        provider=resource.provider.name if resource.provider is not None else None,
        depends_on=depends_on,
    )
    return Subject({**props, **named}, resource.urn, options)


def subjects_of(resources: Sequence[PolicyResource]) -> tuple[Subject, ...]:
    """Those of a whole stack, each with all that it waits for."""
    direct = {one.urn: [other.urn for other in _direct(one)] for one in resources}
    found = (subject_of(one, _all(one.urn, direct)) for one in resources)
    return tuple(subject for subject in found if subject is not None)


def _direct(resource: PolicyResource) -> Iterable[PolicyResource]:
    yield from resource.dependencies
    for others in resource.property_dependencies.values():
        yield from others


def _all(urn: str, direct: Mapping[str, Sequence[str]]) -> frozenset[str]:
    reached: set[str] = set()
    edge: list[Any] = [urn]
    while edge:
        for other in direct.get(edge.pop(), ()):
            if other not in reached:
                reached.add(other)
                edge.append(other)
    return frozenset(reached)
