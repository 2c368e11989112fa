"""Random claims through the real scheduler: what it gives, and whether it fails a pod here or everywhere, is foretold.

The allocator alone is compared in tests/topology/test_allocator_oracle.py, far more often. This is about what the
scheduler puts around it: what counts as taken, in which order claims go, which error ends an attempt.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from sandbox.api import client_for
from sandbox.plane import Sandbox
from tests.e2e.conftest import REPORT
from tests.sandboxes import sandbox_in
from tests.topology.oracle import Answer, replica
from tests.topology.random_claims import Case, Plain, make

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

CASES = 500
FIRST_SEED = 10_000
NAMESPACE = "random"
SETTLED = 8.0
"""Seconds without news after which a pod that waits is taken to wait for good; a retry comes within one or two."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[Sandbox]:
    """One with nothing in it."""
    with sandbox_in(tmp_path_factory.mktemp("state"), "random", tools, REPORT) as up:
        yield up


def test_the_scheduler_does_what_the_replica_foretells(sandbox: Sandbox) -> None:
    with client_for(sandbox.kubeconfig) as api:
        label = {"resource.kubernetes.io/admin-access": "true"}
        core: Any = client.CoreV1Api(api)
        core.create_namespace({"metadata": {"name": NAMESPACE, "labels": label}})
        _wait_for(lambda: core.list_namespaced_service_account(NAMESPACE).items)
        foretold = _published(api)
        # What the scheduler has not heard of yet it may hear of only after it has put a pod aside.
        time.sleep(SETTLED)
        for name in foretold:
            core.create_namespaced_pod(NAMESPACE, _pod(name, foretold[name][0]))
        wrong, kinds = [], Counter[str]()
        for name, answer in _outcomes(api, foretold).items():
            case, expected = foretold[name]
            kinds[next(iter(expected))] += 1
            mine = {key: value for key, value in expected.items() if key != "calls"}
            if "allocations" not in mine:
                mine = dict.fromkeys(mine)
            if mine != answer:
                wrong.append(f"{name}: foretold {expected}, given {answer}: {json.dumps(case.data())}")
    assert not wrong, f"{len(wrong)} of {sum(kinds.values())} came out otherwise, the first: {wrong[0]}"
    assert sum(kinds.values()) == CASES
    assert min(kinds[kind] for kind in ("allocations", "unsatisfiable", "error")) > 0.05 * CASES, kinds


def _published(api: ApiClient) -> dict[str, tuple[Case, Answer]]:
    """Node name → the case on it and what the replica says, for as many cases as are wanted. Each has its own pools."""
    found: dict[str, tuple[Case, Answer]] = {}
    seed = FIRST_SEED
    with ThreadPoolExecutor(8) as pool:
        while len(found) < CASES:
            batch: list[tuple[Case, Answer]] = []
            while len(batch) < CASES - len(found):
                case = make(seed, "1.37")
                seed += 1
                # Nodes that share slices would not be told apart; a pod whose devices have binding conditions is not
                # bound until a driver, which nobody plays here, has met them.
                shared = any(slice["spec"].get("nodeName") != "n1" for slice in case.slices)
                if shared or "bindingConditions" in json.dumps(case.slices):
                    continue
                case = _own(case, f"case-{seed:06}")
                answer = replica(case)
                if answer is not None and "unmodelled" not in answer:
                    batch.append((case, answer))
            taken = pool.map(lambda pair: _create(api, pair[0]), batch)
            found |= {
                case.node["metadata"]["name"]: (case, answer)
                for (case, answer), valid in zip(batch, taken, strict=True)
                if valid
            }
    return found


def _own(case: Case, name: str) -> Case:
    """The same case on a node of this name, with names of its own that are in the same order."""
    text = json.dumps(case.data())
    for word in ("class0", "class1", "class2", "class3", "p0", "p1", "p2", "c0", "c1", "c2", "busy"):
        text = text.replace(f'"{word}"', f'"{name}-{word}"')
    text = text.replace('"n1"', f'"{name}"').replace('"name": "s-', f'"name": "{name}-s-')
    text = text.replace('"namespace": "default"', f'"namespace": "{NAMESPACE}"')
    return Case(**json.loads(text))


def _create(api: ApiClient, case: Case) -> bool:
    """Whether the API server takes all of it: some of what is drawn it does not."""
    core: Any = client.CoreV1Api(api)
    resource: Any = client.ResourceV1Api(api)
    room = {"cpu": "8", "memory": "8Gi", "pods": "10"}
    node = {
        "metadata": {
            "name": case.node["metadata"]["name"],
            "labels": {**case.node["metadata"]["labels"], "case": case.node["metadata"]["name"]},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": room, "allocatable": room},
    }
    try:
        for made in case.classes:
            resource.create_device_class(made)
        for slice in case.slices:
            resource.create_resource_slice(slice)
        for claim in case.claims:
            resource.create_namespaced_resource_claim(NAMESPACE, claim)
        for claim in case.taken:
            _take(resource, claim)
        core.create_node(node)
    except ApiException as error:
        if error.status in (400, 422):
            return False
        raise
    return True


def _take(resource: Any, claim: Plain) -> None:
    name = claim["metadata"]["name"]
    request = {"name": "r", "exactly": {"deviceClassName": "any", "count": 1, "adminAccess": True}}
    made = resource.create_namespaced_resource_claim(
        NAMESPACE, {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
    )
    body = {"metadata": {"name": name, "resourceVersion": made.metadata.resource_version}, "status": claim["status"]}
    resource.patch_namespaced_resource_claim_status(name, NAMESPACE, body)


def _pod(name: str, case: Case) -> Plain:
    claims = [claim["metadata"]["name"] for claim in case.claims]
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"case": name},
            # Simulated nodes are not ready at once.
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "job", "image": "x.example/job"}],
            "resourceClaims": [
                {"name": f"c{number}", "resourceClaimName": claim} for number, claim in enumerate(claims)
            ],
        },
    }


def _outcomes(api: ApiClient, foretold: dict[str, tuple[Case, Answer]]) -> dict[str, Plain]:
    """Pod → what became of it, in the replica's form without words and calls."""
    core: Any = client.CoreV1Api(api)
    seen: dict[str, str] = {}
    changed = time.monotonic()
    while time.monotonic() < changed + SETTLED or len(seen) < len(foretold):
        states = {pod.metadata.name: _state(pod) for pod in core.list_namespaced_pod(NAMESPACE).items}
        now = {name: state for name, state in states.items() if state}
        if now != seen:
            seen, changed = now, time.monotonic()
        assert time.monotonic() < changed + 60, f"no word on {sorted(foretold.keys() - seen.keys())[:5]}"
        time.sleep(0.5)
    results = _results(api)
    return {
        name: {"allocations": [results[claim["metadata"]["name"]] for claim in foretold[name][0].claims]}
        if state == "allocations"
        else {state: None}
        for name, state in seen.items()
    }


def _state(pod: Any) -> str:
    if pod.spec.node_name:
        return "allocations"
    for condition in pod.status.conditions or []:
        if condition.type == "PodScheduled":
            return {"Unschedulable": "unsatisfiable", "SchedulerError": "error"}.get(condition.reason, "")
    return ""


def _results(api: ApiClient) -> dict[str, list[Plain]]:
    listed = client.ResourceV1Api(api).list_namespaced_resource_claim(NAMESPACE)
    plain: Any = api.sanitize_for_serialization(listed)  # type: ignore[no-untyped-call]
    return {
        claim["metadata"]["name"]: [
            {key: result[key] for key in ("request", "driver", "pool", "device")}
            for result in claim["status"]["allocation"]["devices"].get("results", [])
        ]
        for claim in plain["items"]
        if claim.get("status", {}).get("allocation")
    }


def _wait_for(ready: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 90
    while not ready():
        assert time.monotonic() < deadline, "the namespace never got its service account"
        time.sleep(0.1)
