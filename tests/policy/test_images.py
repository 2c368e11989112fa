"""The rule on images: complied with, broken, and what it must not trip over."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from policy.rules.images import floating_images

DAEMON_SET = "kubernetes:apps/v1:DaemonSet"


def props(*images: str | None, kind: str = "containers") -> dict[str, Any]:
    containers = [{"name": f"c{index}", "image": image} for index, image in enumerate(images)]
    return {"spec": {"template": {"spec": {kind: containers}}}}


@pytest.mark.parametrize("image", ["r/npu:1", "r:5000/npu:1", "npu@sha256:00", "r:5000/npu:latest@sha256:00"])
def test_a_tag_or_a_digest_complies(image: str) -> None:
    assert floating_images(DAEMON_SET, props(image)) == []


@pytest.mark.parametrize("image", ["npu", "r:5000/npu", "npu:latest", "r/npu:", None])
def test_an_image_that_may_be_another_tomorrow_is_told_by_container_and_remedy(image: str | None) -> None:
    (sentence,) = floating_images(DAEMON_SET, props("npu:1", image))
    assert sentence.startswith("container c1: ")
    assert "Add a digest" in sentence


def test_init_containers_are_judged_too() -> None:
    assert floating_images(DAEMON_SET, props("npu", kind="initContainers"))


@pytest.mark.parametrize("broken", [{}, {"spec": None}, {"spec": {"template": {"spec": {"containers": None}}}}])
def test_what_is_not_there_is_not_judged(broken: dict[str, Any]) -> None:
    assert floating_images(DAEMON_SET, broken) == []


def test_other_kinds_are_none_of_its_business() -> None:
    assert floating_images("kubernetes:core/v1:ConfigMap", props("npu")) == []


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("kubernetes:core/v1:Pod", lambda spec: {"spec": spec}),
        ("kubernetes:batch/v1:CronJob", lambda spec: {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}}),
    ],
)
def test_pods_are_found_wherever_a_kind_keeps_them(kind: str, shape: Any) -> None:
    assert floating_images(kind, shape({"containers": [{"name": "c", "image": "npu"}]}))


def test_the_pack_can_be_read_without_starting_its_server() -> None:
    """A pack that is constructed prints a port and blocks for ever."""
    pack = Path(__file__).parents[2] / "policy"
    assert "_images" in runpy.run_path(str(pack), run_name="read"), "it is there, and this came back"
