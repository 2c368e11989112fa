"""A control plane of the bench's own with simulated servers in it, and what is done to it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from sandbox import interrupts, layout, locks, plane
from sandbox.api import talking_to
from sandbox.bench import objects
from sandbox.bench.forms import Spec
from sandbox.bench.kind import Kind, Order
from sandbox.bench.metrics import Meter
from sandbox.errors import SandboxError
from sandbox.plane import Sandbox
from sandbox.report import Report

NAME = "bench"
"""The sandbox's. It lives beside the others, so that `make down` also ends one whose bench was killed."""

SETTLES_WITHIN = 300.0
"""Seconds the plane may take to follow what was asked of it: 1,000 nodes to be ready, 300 claims to be released."""

_WRITERS = 6
_WAIT_FOR_OTHERS = 3600.0
_SEEN_AFTER = 0.5
"""Seconds in which the scheduler's watches bring it what the API server has answered for."""


@dataclass(frozen=True)
class Given:
    """What a pod was given. claim: its name. devices: as the slice names them."""

    node: str
    claim: str
    devices: tuple[str, ...]


class Cluster:
    """api: as the administrator. Made by `running`."""

    def __init__(self, sandbox: Sandbox, api: ApiClient) -> None:
        self.sandbox = sandbox
        self.meter = Meter(layout.of(sandbox.name))
        self._core: Any = client.CoreV1Api(api)
        self._resource: Any = client.ResourceV1Api(api)
        self._nodes: dict[str, Order] = {}

    def prepare(self, kind: Kind) -> None:
        """The namespaces and device classes."""
        for name in (objects.JOBS, objects.HELD):
            self._core.create_namespace({"metadata": {"name": name}})
        for wanted in kind.classes:
            self._resource.create_device_class(objects.device_class(wanted))
        self._await("service accounts", self._has_accounts)

    def publish(self, kind: Kind, nodes: Iterable[str], order: Order) -> None:
        """Make the simulated nodes just these, slices in this order; returns when the scheduler can use them."""
        wanted = dict.fromkeys(nodes, order)
        gone = self._nodes.keys() - wanted.keys()
        fresh = wanted.keys() - self._nodes.keys()
        turned = [name for name in wanted.keys() & self._nodes.keys() if self._nodes[name] is not order]
        self._each(self._forget, [(kind, name) for name in sorted(gone)])
        self._each(self._publish, [(kind, name, order) for name in sorted(fresh)])
        self._each(self._turn, [(kind, name, order) for name in sorted(turned)])
        self._nodes = wanted
        self._await("nodes to be ready", lambda: self._ready() == len(wanted))
        time.sleep(_SEEN_AFTER)

    def declare(self, specs: Mapping[str, Spec]) -> None:
        """A ResourceClaimTemplate for each name."""
        for name, spec in specs.items():
            self._resource.create_namespaced_resource_claim_template(objects.JOBS, objects.template(name, spec))

    def hold(self, kind: Kind, node: str, ids: Sequence[int]) -> None:
        """Have other claims hold these NPUs of the node, until they are released."""
        if not ids:
            return
        self._resource.create_namespaced_resource_claim(objects.HELD, objects.held(kind, node, len(ids)))
        status = {"status": objects.allocation(kind, node, ids)}
        self._resource.patch_namespaced_resource_claim_status(node, objects.HELD, status)

    def release(self) -> None:
        """Free all that is held."""
        self._resource.delete_collection_namespaced_resource_claim(objects.HELD, _preload_content=False)
        self._await("held NPUs to be released", lambda: not self._listed_claims(objects.HELD))

    def start(self, pods: Sequence[dict[str, Any]]) -> None:
        """Create the pods, in about their order."""
        if len(pods) == 1:
            self._start(pods[0])
        else:
            self._each(self._start, [(pod,) for pod in pods])

    def decided(self, name: str, limit: float, pause: float = 0.01) -> None:
        """Wait until the scheduler has decided on the pod, either way. SandboxError after `limit` seconds."""

        def said() -> bool:
            found = self._plain(self._core.read_namespaced_pod, name, objects.JOBS)
            conditions = found.get("status", {}).get("conditions", [])
            return "nodeName" in found["spec"] or any(
                c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions
            )

        self._await(f"a decision on pod {name}", said, limit, pause)

    def given(self, name: str, limit: float) -> Given | None:
        """What the scheduler gives the pod, None where no node will do. SandboxError after `limit` seconds."""
        self.decided(name, limit, pause=0.005)
        found = self._plain(self._core.read_namespaced_pod, name, objects.JOBS)
        if "nodeName" not in found["spec"]:
            (said,) = [c for c in found["status"]["conditions"] if c["type"] == "PodScheduled"]
            if said["reason"] != "Unschedulable":
                raise SandboxError(
                    f"The scheduler could not decide on pod {name}: {said.get('message', said['reason'])}",
                    remedy="Run it again, and report it if it stays so.",
                )
            return None
        claim = found["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        allocation = self._plain(self._resource.read_namespaced_resource_claim, claim, objects.JOBS)["status"]
        results = allocation["allocation"]["devices"]["results"]
        return Given(found["spec"]["nodeName"], claim, tuple(result["device"] for result in results))

    def end(self, jobs: Mapping[str, str | None]) -> None:
        """Remove these pods (name → claim that has NPUs, if any), and wait until the NPUs are free."""
        for name in jobs:
            self._core.delete_namespaced_pod(name, objects.JOBS, grace_period_seconds=0, _preload_content=False)
        for claim in filter(None, jobs.values()):
            self._await(f"claim {claim} to be released", partial(self._is_free, claim), pause=0.01)

    def _is_free(self, claim: str) -> bool:
        try:
            found = self._plain(self._resource.read_namespaced_resource_claim, claim, objects.JOBS)
        except ApiException as error:
            if error.status != 404:
                raise
            return True
        return "allocation" not in found.get("status", {})

    def clear(self) -> None:
        """Remove every pod that was measured, and wait until their NPUs are free."""
        self._core.delete_collection_namespaced_pod(objects.JOBS, grace_period_seconds=0, _preload_content=False)
        self._await("claims to be released", self._is_clear, pause=0.03)

    def _is_clear(self) -> bool:
        return not self._plain(self._core.list_namespaced_pod, objects.JOBS, limit=1)["items"] and not (
            self._listed_claims(objects.JOBS)
        )

    def _listed_claims(self, namespace: str) -> list[Any]:
        """Some of the claims there, if there are any."""
        return list(self._plain(self._resource.list_namespaced_resource_claim, namespace, limit=1)["items"])

    def _start(self, pod: dict[str, Any]) -> None:
        self._core.create_namespaced_pod(objects.JOBS, pod, _preload_content=False)

    def _publish(self, kind: Kind, name: str, order: Order) -> None:
        self._core.create_node(objects.node(name), _preload_content=False)
        self._resource.create_resource_slice(objects.slice_of(kind, name, order), _preload_content=False)

    def _turn(self, kind: Kind, name: str, order: Order) -> None:
        wanted = objects.slice_of(kind, name, order)
        slice_name = wanted["metadata"]["name"]
        there = self._plain(self._resource.read_resource_slice, slice_name)
        wanted["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
        wanted["spec"]["pool"]["generation"] = there["spec"]["pool"]["generation"] + 1
        self._resource.replace_resource_slice(slice_name, wanted, _preload_content=False)

    def _forget(self, kind: Kind, name: str) -> None:
        slice_name = objects.slice_of(kind, name, Order.BY_ID)["metadata"]["name"]
        self._resource.delete_resource_slice(slice_name, _preload_content=False)
        self._core.delete_node(name, _preload_content=False)

    def _ready(self) -> int:
        items = self._plain(self._core.list_node)["items"]
        return sum(
            not node["spec"].get("taints")
            and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
            for node in items
        )

    def _has_accounts(self) -> bool:
        try:
            self._core.read_namespaced_service_account("default", objects.JOBS)
        except ApiException as error:
            if error.status != 404:
                raise
            return False
        return True

    @staticmethod
    def _plain(call: Callable[..., Any], *arguments: Any, **options: Any) -> dict[str, Any]:
        """The answer as it came: making model objects of hundreds of pods would take the CPU that is measured."""
        return dict(json.loads(call(*arguments, **options, _preload_content=False).data))

    @staticmethod
    def _each(do: Callable[..., None], arguments: Sequence[tuple[Any, ...]]) -> None:
        with ThreadPoolExecutor(_WRITERS) as pool:
            for _ in pool.map(lambda words: do(*words), arguments):
                pass

    @staticmethod
    def _await(what: str, done: Callable[[], bool], limit: float = SETTLES_WITHIN, pause: float = 0.1) -> None:
        deadline = time.monotonic() + limit
        while not done():
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"Waited {limit:.0f} s for {what}, in vain.",
                    remedy="Run it on a machine with less to do, or with fewer --servers.",
                )
            time.sleep(pause)


@contextmanager
def running(tools: Mapping[str, Path], report: Report) -> Iterator[Cluster]:
    """A control plane for as long as the block lasts; it is taken down however the block ends."""
    place = layout.of(NAME)
    lock = locks.path_for(place.folder, "bench")
    with interrupts.terminable(), locks.hold(lock, "ringfence bench", report, limit=_WAIT_FOR_OTHERS):
        # What a bench left that was killed would be measured too.
        plane.down(NAME, report)
        try:
            with report.task("Starting a control plane", 6):
                sandbox = plane.up(NAME, tools, report)
            with talking_to(sandbox.kubeconfig) as api:
                yield Cluster(sandbox, api)
        finally:
            plane.down(NAME, report)
