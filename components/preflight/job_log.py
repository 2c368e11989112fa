"""What the Job of a name printed, read from a cluster that is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kubernetes import client

from components.cluster_view import ANSWER_WITHIN, ClusterAccess, reading
from components.preflight.run_jobs import pod_log


def reader(access: ClusterAccess, namespace: str) -> Callable[[str], str]:
    """Gives the log of a Job's pod, "" where it has none any more. UnreachableError where the cluster is not read."""

    def read(job: str) -> str:
        with reading(access) as view:
            core: Any = client.CoreV1Api(view.api)
            answer = core.list_namespaced_pod(
                namespace,
                label_selector=f"batch.kubernetes.io/job-name={job}",
                _preload_content=False,
                _request_timeout=ANSWER_WITHIN,
            )
            names = [str(one["metadata"]["name"]) for one in json.loads(answer.data)["items"]]
            return pod_log(view.api, namespace, names[0]) if names else ""

    return read
