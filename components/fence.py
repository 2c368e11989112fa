"""The half `fence`: the confidential runtime on the workload cluster, the key broker on the trusted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from components import cc_hooks, kbs_hooks
from components.cc_from_settings import cc_runtime_args, workload_args
from components.cc_operator import CcOperator
from components.cc_runtime import CcRuntime
from components.cluster_view import ClusterAccess
from components.coco_artifacts import CocoArtifacts
from components.confidential_workload import ConfidentialWorkload
from components.host_preflight import HostPreflight
from components.hosts_from_settings import artifacts_args, preflight_args
from components.kbs_config import KbsConfig, KbsConfigArgs
from components.kbs_from_settings import kbs_of
from components.kbs_live import deployment_reader
from components.kbs_ready import until_ready
from components.operators_from_settings import cc_operator_args, trustee_operator_args
from components.preflight import job_log
from components.trustee_operator import TrusteeOperator
from settings.cluster import Cluster
from settings.fence import Fence
from settings.secrets import Secret


def deploy(
    fence: Fence,
    cluster: Cluster,
    secrets: Mapping[str, Secret],
    workload_side: pulumi.ResourceOptions,
    trusted_side: pulumi.ResourceOptions,
) -> Mapping[str, Any]:
    """Make the components on the providers of the two sides, which may be one. What the stack exports: name → value."""
    exports: dict[str, Any] = {}
    access = ClusterAccess(context=cluster.context, kubeconfig=cluster.kubeconfig)
    if fence.artifacts is not None:
        # What was built is told by digest, for the stack file: an image that runs as root on hosts is reviewed first.
        exports["artifacts"] = CocoArtifacts("artifacts", artifacts_args(fence.artifacts, secrets)).images
    fit = _preflight(fence, access, secrets, workload_side)
    broker = _broker(fence, fence.trusted_cluster or cluster, secrets, trusted_side, exports)
    operator = None
    if fence.installed_cc_operator is not None:
        operator = CcOperator("cc-operator", cc_operator_args(fence.installed_cc_operator), workload_side)
    if fence.cc_runtime is None:
        # For a CcRuntime that has left the stack file: the engine finds the hooks of its deletion by their names.
        cc_hooks.removal(access, 0)
        return exports
    runtime = CcRuntime(
        "cc-runtime",
        cc_runtime_args(
            fence.cc_runtime,
            access,
            cc_hooks.removal(access, fence.cc_runtime.drain_timeout),
            after=[*fit, *(operator.ready if operator is not None else ())],
        ),
        workload_side,
    )
    exports["runtimeClasses"] = list(runtime.runtime_classes)
    for workload in fence.workloads:
        args = workload_args(
            workload,
            fence.cc_runtime,
            kbs_url=fence.kbs.url if fence.kbs is not None else None,
            production=fence.production,
            # A guest that asks for its keys before the key broker is there fails, and with it the pod.
            after=[runtime.ready, *broker],
        )
        ConfidentialWorkload(f"{workload.namespace}/{workload.name}", args, workload_side)
    return exports


def _preflight(
    fence: Fence, access: ClusterAccess, secrets: Mapping[str, Secret], there: pulumi.ResourceOptions
) -> Sequence[pulumi.Resource]:
    """What is to be waited for by whoever changes hosts."""
    if fence.preflight is None:
        return ()
    namespace = fence.preflight.job.namespace if fence.preflight.job is not None else ""
    args = preflight_args(fence.preflight, secrets, job_log.reader(access, namespace))
    return HostPreflight("preflight", args, there).ready


def _broker(
    fence: Fence,
    cluster: Cluster,
    secrets: Mapping[str, Secret],
    there: pulumi.ResourceOptions,
    exports: dict[str, Any],
) -> Sequence[pulumi.Resource]:
    """The key broker and its operator. What is to be waited for by those who ask it."""
    # For a KbsConfig that has left the stack file too: the engine finds the hooks of its deletion by their names.
    hooks = kbs_hooks.around(ClusterAccess(context=cluster.context, kubeconfig=cluster.kubeconfig))
    if fence.trustee_operator is None:
        return ()
    operator = TrusteeOperator("trustee-operator", trustee_operator_args(fence.trustee_operator), there)
    kbs = fence.kbs
    if kbs is None:
        return operator.ready
    namespace = fence.trustee_operator.namespace
    reader = deployment_reader(cluster.context, cluster.kubeconfig, namespace)
    config = KbsConfig(
        "kbs",
        KbsConfigArgs(
            namespace=namespace,
            kbs=kbs_of(kbs, secrets),
            after=operator.ready,
            wait=lambda expected: until_ready(reader, expected, namespace, kbs.ready_timeout),
            delete_timeout=kbs.delete_timeout,
            hooks=hooks,
        ),
        there,
    )
    exports["kbsUrl"] = kbs.url
    exports["kbsInputs"] = config.names
    return (config.ready,)
