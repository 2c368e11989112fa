"""`ConfidentialWorkload`: a Deployment whose pods run in confidential VMs, with the annotations that make them so.

Secrets do not belong in it: what is written here, environment and arguments too, the host reads. They come from the key
broker, once the guest has been attested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components import rim
from components.kernel_params import KernelParams, debugging
from components.labels import MANAGED

HYPERVISOR = "io.katacontainers.config.hypervisor."
HANDLER = "io.containerd.cri.runtime-handler"
CREATE_TIMEOUT = "io.katacontainers.config.runtime.create_container_timeout"
DEVICES = "cdi.k8s.io/vfio-ringfence"

MEMORY_STEP_MIB = 2
MEMORY_LEAST_MIB = 1024
DEVICES_MOST = 14

_core = kubernetes.core.v1


@dataclass(frozen=True, kw_only=True)
class Workload:
    """image: by digest. vcpus, memory_mib: of the guest; memory is secure memory, in steps of 2 MiB from 1 GiB on.

    allowed_annotations: the hypervisor annotations that the runtime class accepts; with another one no pod starts.
    guest: what the runtime brings that is measured too: its payload image (kernel, QEMU), its proxy, whether it logs.
    devices: CDI names (vendor/class=name) of VFIO devices, handed in by annotation. claim_templates: names of
    ResourceClaimTemplates. create_timeout: seconds that Kata gives a container to start, the pull in the guest
    included; the kubelet's runtimeRequestTimeout holds besides. ValueError for what could not start or, in production,
    is not safe.
    """

    name: str
    namespace: str
    image: str
    runtime_class: str
    vcpus: int
    memory_mib: int
    allowed_annotations: frozenset[str]
    kernel: KernelParams = field(default_factory=KernelParams)
    guest: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    image_pull_secrets: Sequence[str] = ()
    devices: Sequence[str] = ()
    claim_templates: Sequence[str] = ()
    create_timeout: int | None = None
    production: bool = True

    def __post_init__(self) -> None:
        if self.memory_mib < MEMORY_LEAST_MIB or self.memory_mib % MEMORY_STEP_MIB:
            raise ValueError(f"memory_mib {self.memory_mib} is below 1024 or odd")
        if len(self.devices) > DEVICES_MOST:
            raise ValueError(f"{len(self.devices)} devices: a pod has room for {DEVICES_MOST}")
        refused = sorted(set(_hypervisor(self)) - self.allowed_annotations)
        if refused:
            raise ValueError(f"pods of {self.runtime_class} may not have the annotations {', '.join(refused)}")
        talking = debugging(self.kernel.words())
        if self.production and talking:
            raise ValueError(f"kernel parameters {', '.join(talking)} show the guest's inside to the host")


@dataclass(frozen=True, kw_only=True)
class ConfidentialWorkloadArgs:
    """after: what has to be there first: CcRuntime.ready, and what the key broker serves the workload.

    rollout_timeout: seconds to wait for its pods.
    """

    workload: Workload
    after: Sequence[pulumi.Resource] = ()
    rollout_timeout: int = 600


class ConfidentialWorkload(pulumi.ComponentResource):
    """deployment: its name. rim_inputs: the hash of what is measured of it.

    A preview that changes what is measured says so, and what changes.
    """

    deployment: pulumi.Output[str]
    rim_inputs: str

    def __init__(self, name: str, args: ConfidentialWorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:ConfidentialWorkload", name, None, opts)
        workload = args.workload
        inputs = rim_inputs(workload)
        telling = rim.telling(f"{name}-rim", f"{workload.namespace}/{workload.name}")
        template: Any = pod_template(workload)
        waiting = f"{args.rollout_timeout}s"
        deployment = kubernetes.apps.v1.Deployment(
            f"{name}-deployment",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=workload.name,
                namespace=workload.namespace,
                labels=MANAGED | _selector(workload),
                annotations={rim.ANNOTATION: rim.canonical(inputs)},
            ),
            spec=kubernetes.apps.v1.DeploymentSpecArgs(
                replicas=workload.replicas,
                selector=kubernetes.meta.v1.LabelSelectorArgs(match_labels=_selector(workload)),
                # Old before new: secure memory and devices are given to one guest at a time.
                strategy=kubernetes.apps.v1.DeploymentStrategyArgs(
                    type="RollingUpdate",
                    rolling_update=kubernetes.apps.v1.RollingUpdateDeploymentArgs(max_surge=0, max_unavailable=1),
                ),
                template=template,
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=args.after,
                custom_timeouts=pulumi.CustomTimeouts(create=waiting, update=waiting),
                hooks=pulumi.ResourceHookBinding(before_update=[telling]),
            ),
        )
        self.deployment = deployment.metadata.name
        self.rim_inputs = rim.fingerprint(inputs)
        self.register_outputs({"deployment": self.deployment, "rimInputs": self.rim_inputs})


def pod_template(workload: Workload) -> dict[str, Any]:
    """The pod, as in a manifest. It shares no namespace and no path of the host, and no field asks for it.

    No limits: Kata adds a container's limits to its guest's size, which would change what is measured. The requests
    are for the scheduler, which knows nothing of secure memory.
    """
    container: dict[str, Any] = {
        "name": workload.name,
        "image": workload.image,
        # The guest pulls; what a host has of the image by another snapshotter does not count.
        "imagePullPolicy": "Always",
        "resources": {"requests": {"cpu": str(workload.vcpus), "memory": _quantity(workload.memory_mib)}},
    }
    if workload.command:
        container["command"] = list(workload.command)
    if workload.args:
        container["args"] = list(workload.args)
    if workload.env:
        container["env"] = [{"name": name, "value": value} for name, value in sorted(workload.env.items())]
    spec: dict[str, Any] = {
        "runtimeClassName": workload.runtime_class,
        "automountServiceAccountToken": False,
        "containers": [container],
    }
    if workload.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in workload.image_pull_secrets]
    if workload.claim_templates:
        spec["resourceClaims"] = [
            {"name": f"claim-{index}", "resourceClaimTemplateName": template}
            for index, template in enumerate(workload.claim_templates)
        ]
        container["resources"]["claims"] = [{"name": one["name"]} for one in spec["resourceClaims"]]
    metadata = {"labels": MANAGED | _selector(workload), "annotations": pod_annotations(workload)}
    return {"metadata": metadata, "spec": spec}


def pod_annotations(workload: Workload) -> dict[str, str]:
    """Those of the pod."""
    found = {HANDLER: workload.runtime_class}
    found |= {f"{HYPERVISOR}{name}": value for name, value in _hypervisor(workload).items()}
    if workload.create_timeout is not None:
        found[CREATE_TIMEOUT] = str(workload.create_timeout)
    if workload.devices:
        found[DEVICES] = ",".join(workload.devices)
    # Rolls the pods where only the guest's kernel or QEMU has changed: those that run are still of the old measurement.
    found[rim.HASH_ANNOTATION] = rim.fingerprint(rim_inputs(workload))
    return found


def rim_inputs(workload: Workload) -> dict[str, Any]:
    """What is measured of it, key by key; values are plain. The order of devices counts, as it does in the guest."""
    return {
        "claimTemplates": list(workload.claim_templates),
        "devices": list(workload.devices),
        "guest": dict(workload.guest),
        "kbsUrl": workload.kernel.kbs_url,
        "kernelParams": workload.kernel.line(),
        "memoryMiB": workload.memory_mib,
        "proxy": workload.kernel.https_proxy,
        "runtimeClass": workload.runtime_class,
        "vcpus": workload.vcpus,
    }


def _hypervisor(workload: Workload) -> dict[str, str]:
    found = {"default_vcpus": str(workload.vcpus), "default_memory": str(workload.memory_mib)}
    line = workload.kernel.line()
    return found | ({"kernel_params": line} if line else {})


def _selector(workload: Workload) -> dict[str, str]:
    return {"app.kubernetes.io/name": workload.name}


def _quantity(mebibytes: int) -> str:
    """In the form in which the API server keeps it."""
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"
