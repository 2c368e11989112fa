"""The pod of the NPU DRA driver: what it sees of the host, and how the kubelet and the prober reach it.

openFuyao's own manifest could not be read. What is known of it: it runs /usr/local/bin/npu-smi of the host, its
configuration has driverName, cdiRoot, numDevices and healthcheckPort, its image is at cr.openfuyao.cn. These names are
those of the Kubernetes project's example driver (kubernetes-sigs/dra-example-driver), so the environment variables, the
sockets and the gRPC health service below are taken from that one. `args`, `env` and `host_paths` are for what turns out
to differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

NPU_SMI = "/usr/local/bin/npu-smi"
ASCEND_DRIVER = "/usr/local/Ascend/driver"
DCMI = "/usr/local/dcmi"
# The libraries that npu-smi and DCMI load are the host's, of the same version as its kernel driver.
LIBRARY_PATH = ":".join(
    [f"{ASCEND_DRIVER}/lib64", f"{ASCEND_DRIVER}/lib64/common", f"{ASCEND_DRIVER}/lib64/driver", DCMI]
)

_core = kubernetes.core.v1


@dataclass(frozen=True, kw_only=True)
class DriverPod:
    """image: by digest or tag. driver_name: of the slices. node_selector: labels of the nodes with NPUs.

    tolerations: keys key, operator, value, effect. resources: {"requests"|"limits": {"cpu": …}}.
    health_port: of the gRPC health service, None for no probes. host_paths: further ones, read-only.
    kubelet_root: the kubelet's --root-dir. cdi_root: where the container runtime reads CDI specs.
    """

    image: pulumi.Input[str]
    node_selector: Mapping[str, str]
    driver_name: str = "npu.huawei.com"
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: Sequence[str] = ()
    tolerations: Sequence[Mapping[str, str]] = ()
    priority_class_name: str = "system-node-critical"
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    health_port: int | None = None
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    host_paths: Sequence[str] = ()
    kubelet_root: str = "/var/lib/kubelet"
    cdi_root: str = "/var/run/cdi"


def pod_spec(pod: DriverPod, service_account: str) -> kubernetes.core.v1.PodSpecArgs:
    """The spec of the pod. Nothing empty is written: the server drops an empty list, and that would be a difference."""
    mounts = _mounts(pod)
    return _core.PodSpecArgs(
        service_account_name=service_account,
        automount_service_account_token=True,
        priority_class_name=pod.priority_class_name,
        node_selector=dict(pod.node_selector),
        image_pull_secrets=[_core.LocalObjectReferenceArgs(name=name) for name in pod.image_pull_secrets] or None,
        tolerations=[_toleration(toleration) for toleration in pod.tolerations] or None,
        containers=[_container(pod, [mount for mount, _ in mounts])],
        volumes=[volume for _, volume in mounts],
    )


def _container(pod: DriverPod, mounts: list[Any]) -> kubernetes.core.v1.ContainerArgs:
    return _core.ContainerArgs(
        name="plugin",
        image=pod.image,
        image_pull_policy=pod.image_pull_policy,
        args=list(pod.args) or None,
        env=_environment(pod),
        resources=_resources(pod.resources),
        # The device files of the NPUs, whose number is not known here, and writing CDI specs take it; no host network,
        # PID or IPC namespace does.
        security_context=_core.SecurityContextArgs(privileged=True),
        volume_mounts=mounts,
        **_probes(pod.health_port),
    )


def _toleration(taint: Mapping[str, str]) -> kubernetes.core.v1.TolerationArgs:
    return _core.TolerationArgs(
        key=taint.get("key"), operator=taint.get("operator"), value=taint.get("value"), effect=taint.get("effect")
    )


def _resources(asked: Mapping[str, Mapping[str, str]]) -> kubernetes.core.v1.ResourceRequirementsArgs | None:
    if not any(asked.values()):
        return None
    return _core.ResourceRequirementsArgs(requests=asked.get("requests") or None, limits=asked.get("limits") or None)


def _environment(pod: DriverPod) -> list[Any]:
    values = {
        "DRIVER_NAME": pod.driver_name,
        "CDI_ROOT": pod.cdi_root,
        "KUBELET_REGISTRAR_DIRECTORY_PATH": f"{pod.kubelet_root}/plugins_registry",
        "KUBELET_PLUGINS_DIRECTORY_PATH": f"{pod.kubelet_root}/plugins",
        "LD_LIBRARY_PATH": LIBRARY_PATH,
    }
    if pod.health_port is not None:
        values["HEALTHCHECK_PORT"] = str(pod.health_port)
    values |= pod.env
    # The node is the one the pod is on, never configured: the admission policy compares it with the token's.
    fields = {"NODE_NAME": "spec.nodeName", "NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    return [
        *(
            _core.EnvVarArgs(
                name=name,
                value_from=_core.EnvVarSourceArgs(
                    field_ref=_core.ObjectFieldSelectorArgs(api_version="v1", field_path=path)
                ),
            )
            for name, path in fields.items()
        ),
        *(_core.EnvVarArgs(name=name, value=value) for name, value in values.items()),
    ]


def _probes(port: int | None) -> dict[str, Any]:
    """Liveness as in the example driver; discovery asks npu-smi up to three times, so the start is given a minute."""
    if port is None:
        return {}
    grpc = _core.GRPCActionArgs(port=port, service="liveness")
    return {
        "startup_probe": _core.ProbeArgs(grpc=grpc, period_seconds=5, failure_threshold=12, timeout_seconds=3),
        "liveness_probe": _core.ProbeArgs(grpc=grpc, period_seconds=10, failure_threshold=3, timeout_seconds=3),
    }


def _mounts(pod: DriverPod) -> list[tuple[Any, Any]]:
    """Each host path at the same path inside: the kubelet is told its sockets and the runtime its CDI specs by path."""
    chosen: list[tuple[str, str, str, bool]] = [
        ("plugins", f"{pod.kubelet_root}/plugins", "DirectoryOrCreate", False),
        ("plugins-registry", f"{pod.kubelet_root}/plugins_registry", "DirectoryOrCreate", False),
        ("cdi", pod.cdi_root, "DirectoryOrCreate", False),
        # A node without the vendor's driver fails to start the pod, with this path in the event, and not later.
        ("ascend-driver", ASCEND_DRIVER, "Directory", True),
        ("dcmi", DCMI, "Directory", True),
        ("npu-smi", NPU_SMI, "File", True),
        *((f"host-{index}", path, "", True) for index, path in enumerate(pod.host_paths)),
    ]
    return [
        (
            # Not written where false: the server drops it, and that would be a difference.
            _core.VolumeMountArgs(name=name, mount_path=path, read_only=read_only or None),
            _core.VolumeArgs(name=name, host_path=_core.HostPathVolumeSourceArgs(path=path, type=kind)),
        )
        for name, path, kind, read_only in chosen
    ]
