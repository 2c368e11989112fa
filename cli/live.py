"""What a cluster has of claims and devices, read only."""

from __future__ import annotations

from typing import Any

from cli.cluster import cluster

_RESOURCES = ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
# Of another version, where they are served at all.
_TAINT_RULES = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3")


def objects_of(context: str) -> tuple[list[dict[str, Any]], str]:
    """(objects of the resource API, namespaces, nodes and pods; the version) of the cluster of a context."""
    with cluster(None, context) as live:
        found: list[dict[str, Any]] = []
        served = live.served("resource.k8s.io/v1")
        for resource in _RESOURCES:
            if resource in served:
                found += live.objects("resource.k8s.io/v1", resource)
        for version in _TAINT_RULES:
            if "devicetaintrules" in live.served(version):
                found += live.objects(version, "devicetaintrules")
                break
        for resource in ("namespaces", "nodes", "pods"):
            found += live.objects("v1", resource)
        return found, live.version()
