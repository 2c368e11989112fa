"""One pod for each claim template, given NPUs by the real scheduler and judged by the server's own matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from sandbox.errors import SandboxError
from sandbox.nodes import SERVER_LABEL, physical_ids
from topology.model import Server
from topology.profiles import DriverProfile
from topology.promise import broken
from topology.template import Template

TRIAL_LABEL = "ringfence.dev/try"
SCHEDULED_WITHIN = 30.0
"""Seconds a pod may take to be given its NPUs; it usually takes a few tenths."""

_PAUSE = 0.03


@dataclass(frozen=True)
class Plan:
    """What is tried of a server: the templates as compiled, and where in the cluster each is: (namespace, name)."""

    server: Server
    templates: Sequence[Template]
    published: Callable[[Template], tuple[str, str]]


@dataclass(frozen=True)
class Outcome:
    """What a pod with one template got. node and promise are None if it got nothing; broken says why not kept.

    devices: ids of NPUs as the slices say, sorted. promise: what the set given was to keep; for a prioritized list that
    of the alternative the scheduler took.
    """

    server: str
    template: str
    namespace: str
    count: int
    pod: str
    node: str | None
    devices: tuple[int, ...]
    promise: str | None
    kept: bool
    assumes: str | None
    broken: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def run(
    api: Callable[[], AbstractContextManager[ApiClient]],
    plans: Sequence[Plan],
    profile: DriverProfile,
    seen: Callable[[Outcome], None],
) -> list[Outcome]:
    """Try every template of every plan: servers side by side, the templates of one after the other, each on it alone.

    api: makes a client; each thread has its own. seen: called with each outcome as it comes, from several threads.
    """
    with api() as first:
        ids = physical_ids(first, profile)
        for namespace in sorted({plan.published(template)[0] for plan in plans for template in plan.templates}):
            _clear(first, namespace)

    def one(plan: Plan) -> list[Outcome]:
        found = []
        with api() as mine:
            for template in plan.templates:
                outcome = _try(mine, plan, template, ids)
                seen(outcome)
                found.append(outcome)
        return found

    with ThreadPoolExecutor(max_workers=max(1, len(plans))) as pool:
        return [outcome for outcomes in pool.map(one, plans) for outcome in outcomes]


def _try(api: ApiClient, plan: Plan, template: Template, ids: dict[tuple[str, str], int]) -> Outcome:
    namespace, published = plan.published(template)
    name = f"try-{template.name}"
    core: Any = client.CoreV1Api(api)
    core.create_namespaced_pod(namespace, _pod(name, published, plan.server.name))
    try:
        pod = _scheduled(core, namespace, name)
        results = _results(api, pod) if pod.spec.node_name else []
        refusal = "" if pod.spec.node_name else _refusal(pod)
    except BaseException:
        # The next trial clears what this one leaves; a second error would hide the first.
        with suppress(Exception):
            core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
        raise
    _remove(api, namespace, [name])
    given = tuple(sorted(ids.get((result.pool, result.device), -1) for result in results))
    promise = template.promises.get(results[0].request, template.promises.get("")) if results else None
    if promise is None:
        faults: tuple[str, ...] = (refusal or "the claim holds no device",)
    else:
        faults = broken(plan.server, given, promise)
        if pod.spec.node_name != plan.server.name:
            faults = (*faults, f"the pod is on {pod.spec.node_name}")
    return Outcome(
        server=plan.server.name,
        template=template.name,
        namespace=namespace,
        count=template.count,
        pod=name,
        node=pod.spec.node_name,
        devices=given,
        promise=None if promise is None else str(promise),
        kept=not faults,
        assumes=template.annotations.get("ringfence.dev/assumes"),
        broken=faults,
    )


def _pod(name: str, template: str, server: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {TRIAL_LABEL: "true"}},
        "spec": {
            "nodeSelector": {SERVER_LABEL: server},
            "containers": [
                {"name": "job", "image": "ringfence.dev/simulated", "resources": {"claims": [{"name": "npus"}]}}
            ],
            "resourceClaims": [{"name": "npus", "resourceClaimTemplateName": template}],
            "terminationGracePeriodSeconds": 0,
        },
    }


def _scheduled(core: Any, namespace: str, name: str) -> Any:
    deadline = time.monotonic() + SCHEDULED_WITHIN
    while True:
        pod = core.read_namespaced_pod(name, namespace)
        if pod.spec.node_name or time.monotonic() > deadline:
            return pod
        time.sleep(_PAUSE)


def _results(api: ApiClient, pod: Any) -> list[Any]:
    claims = [status.resource_claim_name for status in pod.status.resource_claim_statuses or []]
    resource: Any = client.ResourceV1Api(api)
    found: list[Any] = []
    for claim in claims:
        allocation = resource.read_namespaced_resource_claim(claim, pod.metadata.namespace).status.allocation
        found += allocation.devices.results if allocation else []
    return found


def _refusal(pod: Any) -> str:
    for condition in pod.status.conditions or []:
        if condition.type == "PodScheduled" and condition.status != "True":
            return f"not scheduled: {condition.message or condition.reason}"
    return f"not scheduled after {SCHEDULED_WITHIN:.0f} s, and no scheduler said why"


def _clear(api: ApiClient, namespace: str) -> None:
    """Remove what a trial that was interrupted left."""
    core: Any = client.CoreV1Api(api)
    pods = core.list_namespaced_pod(namespace, label_selector=TRIAL_LABEL).items
    _remove(api, namespace, [pod.metadata.name for pod in pods])


def _remove(api: ApiClient, namespace: str, names: Sequence[str]) -> None:
    """Delete the pods and wait until their claims are gone, so that the NPUs are free for the next."""
    core: Any = client.CoreV1Api(api)
    resource: Any = client.ResourceV1Api(api)
    for name in names:
        try:
            core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
        except ApiException as error:
            if error.status != 404:
                raise
    deadline = time.monotonic() + SCHEDULED_WITHIN
    waiting = set(names)
    while waiting:
        claims = resource.list_namespaced_resource_claim(namespace).items
        owners = {owner.name for claim in claims for owner in claim.metadata.owner_references or []}
        waiting &= owners
        if waiting and time.monotonic() > deadline:
            raise SandboxError(
                f"The claims of {', '.join(sorted(waiting))} are still there after {SCHEDULED_WITHIN:.0f} s.",
                remedy="See the logs of kube-controller-manager: `ringfence sandbox status` names them.",
            )
        if waiting:
            time.sleep(_PAUSE)
