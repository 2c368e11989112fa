"""What no single section of `ringfence:fence` can be blamed for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from difflib import get_close_matches
from urllib.parse import urlsplit

from settings.cc_runtime_checks import judge_cc_runtime
from settings.cluster import Cluster
from settings.confidential_workload_checks import judge_workload
from settings.errors import Problem
from settings.explain import dotted
from settings.fence import Fence
from settings.kbs import KbsSettings
from settings.kbs_checks import judge_kbs
from settings.kbs_checks import warnings_of as kbs_warnings
from settings.kbs_secrets import SERVICE

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
        found += _own_service(fence)
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


def _own_service(fence: Fence) -> Iterator[Problem]:
    if fence.trusted_cluster is None or fence.kbs is None or fence.trustee_operator is None:
        return
    names = {f"{SERVICE}.{fence.trustee_operator.namespace}{suffix}" for suffix in ("", ".svc", ".svc.cluster.local")}
    for index, workload in enumerate(fence.workloads):
        host = urlsplit(workload.kbs_url or "").hostname
        if host in {SERVICE, *names}:
            reason = f"{host} is known on the key broker's cluster only, and the guests run on another."
            yield Problem(
                dotted([*AT, "workloads", index, "kbsUrl"]), reason, f"Remove it: then it is {fence.kbs.url}."
            )


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
    if fence.kbs is None:
        return []
    return [*(f"{dotted([*AT, 'kbs'])}: {one}" for one in kbs_warnings(fence.kbs)), *_not_there(fence, fence.kbs)]


def _not_there(fence: Fence, kbs: KbsSettings) -> Iterator[str]:
    """What guests are told to ask this stack's key broker for, and what it does not have from here."""
    uris = [f"kbs:///default/{secret}/{key}" for secret, keys in kbs.resources.items() for key in keys]
    for index, workload in enumerate(fence.workloads):
        if workload.kbs_url not in {None, kbs.url}:
            continue
        named = {"signaturePolicyUri": workload.signature_policy_uri, "registryAuthUri": workload.registry_auth_uri}
        for key, uri in named.items():
            if uri is not None and uri not in uris:
                close = next(iter(get_close_matches(uri, uris, n=1)), None)
                meant = f" Did you mean {close}?" if close else ""
                yield (
                    f"{dotted([*AT, 'workloads', index, key])}: {uri} is not in kbs.resources; unless someone else "
                    f"puts it into the key broker, none of these pods starts.{meant}"
                )
