"""An image must name what it is: a digest, or at least a tag that is not latest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Where each kind keeps the spec of its pods.
_POD_SPECS: Mapping[str, tuple[str, ...]] = {
    "kubernetes:core/v1:Pod": ("spec",),
    "kubernetes:apps/v1:DaemonSet": ("spec", "template", "spec"),
    "kubernetes:apps/v1:Deployment": ("spec", "template", "spec"),
    "kubernetes:apps/v1:StatefulSet": ("spec", "template", "spec"),
    "kubernetes:batch/v1:Job": ("spec", "template", "spec"),
    "kubernetes:batch/v1:CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


def floating_images(resource_type: str, props: Mapping[str, Any]) -> list[str]:
    """A sentence for each container whose image may be another one tomorrow; empty for kinds without pods."""
    return [
        f"container {name}: image {image} is whatever was pushed last, so two nodes may run two different ones. "
        "Add a digest (@sha256:…) or a tag other than latest."
        for name, image in _images(resource_type, props)
        if _floats(image)
    ]


def _images(resource_type: str, props: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    steps = _POD_SPECS.get(resource_type)
    spec: Any = props if steps is not None else None
    for step in steps or ():
        # Not by isinstance: the engine hands over proxies that are no dicts.
        spec = spec.get(step) if spec is not None else None
    if spec is None:
        return
    for kind in ("initContainers", "containers"):
        containers = spec.get(kind)
        for container in containers if containers is not None else ():
            yield container.get("name") or "?", container.get("image") or ""


def _floats(image: str) -> bool:
    if "@" in image:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag in {"", "latest"}
