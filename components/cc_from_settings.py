"""From what the stack file says of confidential containers to the Args of their components."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.cc_runtime import CcRuntimeArgs
from components.cluster_view import ClusterAccess
from components.confidential_workload import ConfidentialWorkloadArgs, Workload
from components.kernel_params import KernelParams
from settings.cc_runtime import CcRuntimeSettings
from settings.confidential_workload import WorkloadSettings


def cc_runtime_args(
    runtime: CcRuntimeSettings,
    access: ClusterAccess,
    removal: pulumi.ResourceHookBinding | None,
    after: Sequence[pulumi.Resource] = (),
) -> CcRuntimeArgs:
    """removal: made by cc_hooks.removal, once in the program. after: the operator."""
    env = dict(runtime.chosen.env)
    if runtime.guest_https_proxy is not None:
        env["AGENT_HTTPS_PROXY"] = runtime.guest_https_proxy
    if runtime.guest_no_proxy:
        env["AGENT_NO_PROXY"] = ",".join(runtime.guest_no_proxy)
    if runtime.allowed_hypervisor_annotations:
        env["ALLOWED_HYPERVISOR_ANNOTATIONS"] = " ".join(runtime.allowed_hypervisor_annotations)
    return CcRuntimeArgs(
        access=access,
        payload_image=runtime.payload_image,
        pre_install_image=runtime.pre_install_image,
        post_uninstall_image=runtime.post_uninstall_image,
        nodes=runtime.nodes,
        node_label=(runtime.node_label.key, runtime.node_label.value),
        runtime_classes=runtime.classes,
        default_runtime_class=runtime.default_class,
        env=env | dict(sorted(runtime.env.items())),
        tolerations=[one.model_dump(exclude_none=True) for one in runtime.tolerations],
        debug=runtime.debug,
        image_pull_policy=runtime.image_pull_policy,
        wait_timeout=runtime.wait_timeout,
        delete_timeout=runtime.delete_timeout,
        after=after,
        removal=removal,
    )


def workload_args(
    workload: WorkloadSettings,
    runtime: CcRuntimeSettings,
    *,
    kbs_url: str | None,
    production: bool,
    after: Sequence[pulumi.Resource] = (),
) -> ConfidentialWorkloadArgs:
    """kbs_url: the stack's key broker, for a workload that names none. after: CcRuntime.ready."""
    return ConfidentialWorkloadArgs(
        workload=Workload(
            name=workload.name,
            namespace=workload.namespace,
            image=workload.image,
            runtime_class=workload.runtime_class,
            vcpus=workload.vcpus,
            memory_mib=workload.memory_mi,
            allowed_annotations=runtime.guest_annotations(workload.runtime_class),
            kernel=KernelParams(
                kbs_url=workload.kbs_url or kbs_url,
                rest_api=workload.rest_api,
                signature_policy_uri=workload.signature_policy_uri,
                registry_auth_uri=workload.registry_auth_uri,
                https_proxy=workload.guest_https_proxy,
                no_proxy=workload.guest_no_proxy,
                swiotlb_mib=workload.swiotlb_mi,
                extra=workload.kernel_params,
            ),
            guest=_guest(runtime),
            replicas=workload.replicas,
            command=workload.command,
            args=workload.args,
            env=workload.env,
            image_pull_secrets=workload.image_pull_secrets,
            devices=workload.devices,
            claim_templates=workload.claim_templates,
            create_timeout=workload.create_timeout,
            production=production,
        ),
        after=after,
        rollout_timeout=workload.rollout_timeout,
    )


def _guest(runtime: CcRuntimeSettings) -> dict[str, str]:
    """What every guest of the runtime gets that is measured: kata-deploy writes proxy and debug to the command line."""
    found = {
        "payloadImage": runtime.payload_image,
        "httpsProxy": runtime.guest_https_proxy,
        "noProxy": ",".join(runtime.guest_no_proxy),
        "debug": "true" if runtime.debug else None,
    }
    return {name: value for name, value in found.items() if value}
