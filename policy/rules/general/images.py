"""An image must name what it is: a digest, or at least a tag that is not latest."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import containers, pod_specs
from policy.rules.model import Example, Finding, Group, Rule, Subject
from policy.rules.view import View


def _images(subject: Subject) -> Iterator[tuple[str, View]]:
    """(container's name, its image)."""
    for spec in pod_specs(subject):
        for container in containers(spec):
            yield container.at("name").text() or "?", container.at("image")


def _floating(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for name, view in _images(subject):
        image = view.text() or ""
        if _floats(image) and not (view.text() is None and not view.absent):
            yield Finding(
                view.path,
                f"Container {name}: image {image or '(none)'} is whatever was pushed last, so two nodes may run two "
                "different "
                "ones.",
                "Add a digest (@sha256:…) or a tag other than latest.",
            )


def _floats(image: str) -> bool:
    if "@" in image:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag in {"", "latest"}


def _undigested(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for name, view in _images(subject):
        image = view.text()
        if image is not None and not _floats(image) and "@sha256:" not in image:
            yield Finding(
                view.path,
                f"Container {name}: the tag of image {image} can be moved to another build, which nobody here has "
                "tested.",
                "Add the digest (@sha256:…) of the one that was.",
            )


_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: job}}
spec:
  containers:
  - name: train
    image: {}
"""
_DIGEST = "registry.example/train@sha256:" + "3f8a1c0de1b7d94c5b6a20f7e98d4c31a5b2e6f7089c1d2e3f4a5b6c7d8e9f01"

PIN_IMAGES = Rule(
    id="pin-images",
    title="Images carry a digest, or a tag other than latest",
    why="latest, or no tag, is whatever was pushed last when a node first pulled it.",
    group=Group.GENERAL,
    remedy="A digest, or at least a tag.",
    check=_floating,
    complies=Example(_POD.format("registry.example/train:1.2")),
    violates=Example(_POD.format("registry.example/train:latest")),
)

IMAGE_DIGEST = Rule(
    id="image-digest",
    title="Images are named by digest",
    why="A tag can be moved after it was tested; a digest is the image.",
    group=Group.GENERAL,
    remedy="registry/repository@sha256:….",
    check=_undigested,
    complies=Example(_POD.format(_DIGEST)),
    violates=Example(_POD.format("registry.example/train:1.2")),
)

RULES = (PIN_IMAGES, IMAGE_DIGEST)
