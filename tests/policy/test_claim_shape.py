"""Every field of a claim, template or class is looked at: neither unknown ones nor other types are let by."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from policy.rules.claims.shape import SHAPE
from policy.rules.context import Context
from policy.rules.model import Finding, Subject
from policy.rules.run import judge
from policy.rules.view import UNKNOWN, Path, dotted

_CLAIM = """
metadata: {name: c, namespace: n, labels: {a: b}, annotations: {a: b}, finalizers: [x]}
spec:
  devices:
    requests:
    - name: npu
      exactly:
        deviceClassName: npu.huawei.com
        selectors: [{cel: {expression: "true"}}]
        allocationMode: ExactCount
        count: 2
        adminAccess: false
        tolerations: [{key: a, operator: Equal, value: b, effect: NoSchedule, tolerationSeconds: 3}]
        capacity: {requests: {npu.huawei.com/memory: 1Gi, npu.huawei.com/cores: 2}}
    - name: or
      firstAvailable:
      - {name: two, deviceClassName: npu.huawei.com, count: 2}
      - {name: one, deviceClassName: npu.huawei.com}
    constraints:
    - {matchAttribute: npu.huawei.com/numaNode, requests: [npu, or/two]}
    config:
    - {requests: [npu], opaque: {driver: npu.huawei.com, parameters: {any: [thing, {at: all}]}}}
"""
CLAIM: dict[str, Any] = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **yaml.safe_load(_CLAIM)}
TEMPLATE: dict[str, Any] = {
    **CLAIM,
    "kind": "ResourceClaimTemplate",
    "spec": {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM["spec"]},
}
CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "c"},
    "spec": {
        "selectors": [{"cel": {"expression": "true"}}],
        "config": [{"opaque": {"driver": "d", "parameters": {"any": 1}}}],
        "extendedResourceName": "example.com/npu",
    },
}
GOOD = (CLAIM, TEMPLATE, CLASS)
# The API's own free places: unknown keys are other people's there.
_FREE = ("metadata", "labels", "annotations", "capacity.requests", "parameters")


def found(manifest: Mapping[str, Any]) -> list[Finding]:
    return list(judge(SHAPE, Subject(manifest), Context()).findings)


def parts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from parts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from parts(inner, (*path, index))


def changed(manifest: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(manifest)
    here: Any = made
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return made


def is_free(path: Path) -> bool:
    return any(step in ("parameters", "finalizers") for step in path)


@pytest.mark.parametrize("manifest", GOOD, ids=lambda one: str(one["kind"]))
def test_what_the_api_takes_is_taken(manifest: dict[str, Any]) -> None:
    assert found(manifest) == []


@pytest.mark.parametrize("manifest", GOOD, ids=lambda one: str(one["kind"]))
def test_a_field_that_the_api_lacks_is_found_at_every_depth(manifest: dict[str, Any]) -> None:
    for path, value in parts(manifest):
        if not isinstance(value, dict) or is_free(path) or dotted(path).endswith(_FREE):
            continue
        (finding,) = found(changed(manifest, (*path, "colour"), "red"))
        assert finding.path == (*path, "colour"), dotted(path)


@pytest.mark.parametrize("manifest", GOOD, ids=lambda one: str(one["kind"]))
def test_a_value_of_another_type_is_found_wherever_it_stands(manifest: dict[str, Any]) -> None:
    for path, value in parts(manifest):
        if len(path) < 2 or is_free(path):
            continue
        quantity = "requests" in path and "capacity" in path and not isinstance(value, dict)
        wrong: list[Any] = [["x"]] if isinstance(value, dict) else [{"x": "y"}]
        wrong += [] if quantity or type(value) is int else [7]
        wrong += [] if isinstance(value, bool) else [True]
        wrong += [] if isinstance(value, str) or quantity else ["text"]
        for other in wrong:
            assert path in [finding.path for finding in found(changed(manifest, path, other))], (dotted(path), other)


@pytest.mark.parametrize("manifest", GOOD, ids=lambda one: str(one["kind"]))
def test_null_says_nothing_and_what_is_not_known_yet_is_no_mistake(manifest: dict[str, Any]) -> None:
    for path, _ in parts(manifest):
        if len(path) < 2:
            continue
        for nothing in (None, UNKNOWN):
            sentences = [one.says for one in found(changed(manifest, path, nothing))]
            assert not [one for one in sentences if "no field" in one or ", not " in one], (dotted(path), sentences)


@pytest.mark.parametrize(
    ("manifest", "instead"),
    [
        ({**TEMPLATE, "spec": CLAIM["spec"]}, "spec: {spec: {devices"),
        ({**CLAIM, "spec": TEMPLATE["spec"]}, "Only a template"),
        ({**CLAIM, "spec": CLAIM["spec"]["devices"]}, "spec.devices"),
        ({**CLAIM, "spec": {"device": {}}}, "Did you mean devices"),
        ({**CLASS, "spec": {"selector": []}}, "Did you mean selectors"),
        ({**CLAIM, "metadata": {"labels": {"count": 8}}}, "in quotes"),
        (changed(CLAIM, ("spec", "devices", "requests", 0, "exactly", "count"), "2"), "without quotes"),
        (changed(CLAIM, ("spec", "devices", "requests"), {"name": "npu"}), "a dash"),
    ],
)
def test_the_usual_mistakes_are_told_with_their_remedy(manifest: dict[str, Any], instead: str) -> None:
    assert any(instead in finding.instead for finding in found(manifest)), found(manifest)
