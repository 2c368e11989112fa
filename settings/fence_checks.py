"""What no single section of `ringfence:fence` can be blamed for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from settings.cc_runtime_checks import judge_cc_runtime
from settings.cluster import Cluster
from settings.confidential_workload_checks import judge_workload
from settings.errors import Problem
from settings.explain import dotted
from settings.fence import Fence
from settings.kbs_checks import judge_kbs
from settings.kbs_checks import warnings_of as kbs_warnings

AT = ("fence",)


def judge_fence(fence: Fence, cluster: Cluster, today: datetime) -> list[Problem]:
    """Every problem of a fence whose keys are right one by one. today: with a time zone."""
    found = [*_together(fence), *_clusters(fence, cluster)]
    kbs, runtime, production = fence.kbs, fence.cc_runtime, fence.production
    if runtime is not None:
        host = kbs.address.host if kbs is not None else None
        found += judge_cc_runtime(runtime, (*AT, "ccRuntime"), production=production, kbs_host=host)
        for index, workload in enumerate(fence.workloads):
            at = (*AT, "workloads", index)
            url = kbs.url if kbs is not None else None
            found += judge_workload(workload, at, production=production, runtime=runtime, kbs_url=url)
    if kbs is not None:
        one_cluster = fence.trusted_cluster is None
        found += judge_kbs(kbs, production=production, one_cluster=one_cluster, today=today, at=(*AT, "kbs"))
    return found


def _together(fence: Fence) -> Iterator[Problem]:
    if fence.installed_cc_operator is None and fence.kbs is None and fence.trustee_operator is None:
        yield Problem(dotted(AT), "deploys nothing.", "Add ccRuntime or kbs, or remove it.")
    if fence.kbs is not None and fence.trustee_operator is None:
        reason = "is missing, and only the operator knows which images the key broker is made of."
        yield Problem(dotted([*AT, "trusteeOperator"]), reason, "Add it, with its images.")
    if fence.workloads and fence.cc_runtime is None:
        reason = "nothing in this stack says which runtime classes and annotations there are for them."
        yield Problem(dotted([*AT, "workloads"]), reason, "Add ccRuntime, or remove them.")
    named = [(one.namespace, one.name) for one in fence.workloads]
    for index, name in enumerate(named):
        if name in named[:index]:
            yield Problem(dotted([*AT, "workloads", index]), f"{'/'.join(name)} is there twice.", "Remove one.")


def _clusters(fence: Fence, cluster: Cluster) -> Iterator[Problem]:
    trusted = fence.trusted_cluster
    if trusted is None:
        return
    at = [*AT, "trustedCluster"]
    if fence.kbs is None and fence.trustee_operator is None:
        yield Problem(dotted(at), "nothing is deployed there.", "Add kbs and trusteeOperator, or remove it.")
    for key, mine, other in (
        ("identifier", trusted.identifier, cluster.identifier),
        ("context", trusted.context, cluster.context if trusted.kubeconfig == cluster.kubeconfig else None),
    ):
        if mine == other:
            reason = f"{mine} is the cluster of the workloads, too."
            yield Problem(dotted([*at, key]), reason, "Name another one, or remove trustedCluster to have one cluster.")


def warnings_of(fence: Fence) -> list[str]:
    """What works, and may still surprise."""
    return [f"{dotted([*AT, 'kbs'])}: {one}" for one in kbs_warnings(fence.kbs)] if fence.kbs is not None else []
