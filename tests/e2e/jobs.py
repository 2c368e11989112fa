"""Pods that take NPUs in the sandbox, and what they were given."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes import client
from kubernetes.client import ApiClient

from sandbox.nodes import SERVER_LABEL, physical_ids
from topology.profiles import OPENFUYAO

NAMESPACE = "jobs"


@dataclass(frozen=True)
class Given:
    """node None: the pod waits, message says why. request: the alternative taken of a prioritized list."""

    node: str | None
    ids: tuple[int, ...]
    request: str
    message: str


@contextmanager
def pod(api: ApiClient, name: str, server: str, template: str, wait: float = 20.0) -> Iterator[Given]:
    """A pod with one claim from the template, on the server, until the block ends."""
    claim = {"name": "npus", "resourceClaimTemplateName": template}
    with _pod(api, name, server, claim, wait) as given:
        yield given


@contextmanager
def occupied(api: ApiClient, server: str, ids: Sequence[int]) -> Iterator[None]:
    """These NPUs of the server are taken, each by a pod whose claim asks for just that device."""
    resource: Any = client.ResourceV1Api(api)
    names = [f"busy-{server}-{id}" for id in ids]
    holders = []
    try:
        for name, id in zip(names, ids, strict=True):
            expression = f'device.attributes["{OPENFUYAO.driver}"].physicalId == {id}'
            request = {
                "name": "npu",
                "exactly": {
                    "deviceClassName": OPENFUYAO.device_class,
                    "selectors": [{"cel": {"expression": expression}}],
                },
            }
            body = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
            resource.create_namespaced_resource_claim(NAMESPACE, body)
            holder = _pod(api, name, server, {"name": "npus", "resourceClaimName": name}, 20.0)
            given = holder.__enter__()
            holders.append(holder)
            assert given.ids == (id,), f"NPU {id} of {server} could not be taken: {given.message}"
        yield
    finally:
        for holder in holders:
            holder.__exit__(None, None, None)
        for name in names:
            resource.delete_namespaced_resource_claim(name, NAMESPACE)


@contextmanager
def _pod(api: ApiClient, name: str, server: str, claim: dict[str, str], wait: float) -> Iterator[Given]:
    core: Any = client.CoreV1Api(api)
    body = {
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {SERVER_LABEL: server},
            "containers": [{"name": "job", "image": "x.example/job", "resources": {"claims": [{"name": "npus"}]}}],
            "resourceClaims": [claim],
        },
    }
    core.create_namespaced_pod(NAMESPACE, body)
    try:
        yield _given(api, name, wait)
    finally:
        core.delete_namespaced_pod(name, NAMESPACE, grace_period_seconds=0)
        _wait_released(api, name)


def _given(api: ApiClient, name: str, wait: float) -> Given:
    core: Any = client.CoreV1Api(api)
    resource: Any = client.ResourceV1Api(api)
    deadline = time.monotonic() + wait
    while True:
        found = core.read_namespaced_pod(name, NAMESPACE)
        if found.spec.node_name or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    message = "; ".join(c.message or "" for c in found.status.conditions or [] if c.type == "PodScheduled")
    if not found.spec.node_name:
        return Given(None, (), "", message)
    (status,) = found.status.resource_claim_statuses or [None]
    claim = status.resource_claim_name if status else found.spec.resource_claims[0].resource_claim_name
    results = resource.read_namespaced_resource_claim(claim, NAMESPACE).status.allocation.devices.results
    known = physical_ids(api, OPENFUYAO)
    ids = tuple(sorted(known[result.pool, result.device] for result in results))
    return Given(found.spec.node_name, ids, results[0].request, message)


def _wait_released(api: ApiClient, name: str) -> None:
    resource: Any = client.ResourceV1Api(api)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        held = [
            claim
            for claim in resource.list_namespaced_resource_claim(NAMESPACE).items
            if any(owner.name == name for owner in claim.metadata.owner_references or [])
            or (claim.metadata.name == name and claim.status and claim.status.reserved_for)
        ]
        if not held:
            return
        time.sleep(0.05)
    raise AssertionError(f"the claim of {name} was not released")
