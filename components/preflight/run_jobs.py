"""Runs the script on nodes of a cluster, one Job each, and takes everything away again, however it ends."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from components.cluster_view import ANSWER_WITHIN
from components.labels import MANAGED
from components.preflight import job
from components.preflight.facts import Facts, NoFactsError, parse

RUN_LABEL = "ringfence.dev/preflight"
PAUSE = 1.0
"""Seconds between two looks at the pods."""

ReadLog = Callable[[ApiClient, str, str], str]
"""(client, namespace, pod) → what its container printed."""

Object = Mapping[str, Any]


def pod_log(api: ApiClient, namespace: str, pod: str) -> str:
    """From the API server, which asks the node's kubelet."""
    core: Any = client.CoreV1Api(api)
    answer = core.read_namespaced_pod_log(
        pod, namespace, container=job.CONTAINER, _request_timeout=ANSWER_WITHIN, _preload_content=False
    )
    text: str = answer.data.decode("utf-8", "replace")
    return text


def gather(
    api: ApiClient, nodes: Sequence[str], image: str, namespace: str, timeout: int, read_log: ReadLog = pod_log
) -> dict[str, Facts | str]:
    """Node → its facts, or a sentence why there are none. Takes `timeout` seconds at most, and some to clear up.

    ApiException where the Jobs may not be made. An interrupt clears up as well.
    """
    run = uuid.uuid4().hex[:12]
    batch: Any = client.BatchV1Api(api)
    deadline = time.monotonic() + timeout
    found: dict[str, Facts | str] = {}
    try:
        for node in nodes:
            metadata = {"name": job.name_for(node, run), "labels": MANAGED | job.COMPONENT | {RUN_LABEL: run}}
            body = {"metadata": metadata, "spec": _labelled(job.spec(node, image, timeout), run)}
            batch.create_namespaced_job(namespace, body, _request_timeout=ANSWER_WITHIN)
        while True:
            pods = {_at(pod, "spec", "nodeName"): pod for pod in _pods(api, namespace, run)}
            for node in nodes:
                phase = _at(pods.get(node, {}), "status", "phase")
                if node not in found and phase in {"Succeeded", "Failed"}:
                    found[node] = _facts(api, namespace, pods[node], read_log)
            if len(found) == len(set(nodes)):
                return found
            if time.monotonic() >= deadline:
                return found | {node: _late(pods.get(node), timeout) for node in nodes if node not in found}
            time.sleep(PAUSE)
    finally:
        # By label and not one by one: also those of whose creation no answer came any more.
        batch.delete_collection_namespaced_job(
            namespace, label_selector=f"{RUN_LABEL}={run}", propagation_policy="Background"
        )


def _labelled(spec: dict[str, Any], run: str) -> dict[str, Any]:
    spec["template"]["metadata"]["labels"] |= {RUN_LABEL: run}
    return spec


def _facts(api: ApiClient, namespace: str, pod: Object, read_log: ReadLog) -> Facts | str:
    name = str(_at(pod, "metadata", "name"))
    try:
        return parse(read_log(api, namespace, name))
    except NoFactsError as error:
        return str(error)
    except ApiException as error:
        return f"the log of pod {name} could not be read: {error.status} {error.reason}."


def _late(pod: Object | None, timeout: int) -> str:
    if pod is None:
        return f"after {timeout} s the Job has no pod."
    reasons = [
        f"{waiting.get('reason')}: {waiting.get('message', '')}".rstrip(": ")
        for status in _at(pod, "status", "containerStatuses") or ()
        if (waiting := _at(status, "state", "waiting"))
    ]
    because = f" ({'; '.join(reasons)})" if reasons else ""
    return f"after {timeout} s its pod is still {_at(pod, 'status', 'phase') or 'Pending'}{because}."


def _pods(api: ApiClient, namespace: str, run: str) -> list[Object]:
    core: Any = client.CoreV1Api(api)
    answer = core.list_namespaced_pod(
        namespace, label_selector=f"{RUN_LABEL}={run}", _preload_content=False, _request_timeout=ANSWER_WITHIN
    )
    items: list[Object] = json.loads(answer.data)["items"]
    return items


def _at(thing: Any, *path: str) -> Any:
    """The value at the path, None where a step of it is missing."""
    for step in path:
        thing = thing.get(step) if isinstance(thing, Mapping) else None
    return thing
