"""From what the stack file says of the driver to the driver's Args."""

from __future__ import annotations

from components.driver_pod import DriverPod
from components.npu_dra_driver import NpuDraDriverArgs
from settings.cluster import Cluster
from settings.driver import Driver


def driver_args(driver: Driver, cluster: Cluster, driver_name: str) -> NpuDraDriverArgs:
    """driver_name: as in the slices it publishes."""
    return NpuDraDriverArgs(
        namespace=driver.namespace,
        pod=DriverPod(
            image=driver.image,
            node_selector=driver.node_selector,
            driver_name=driver_name,
            image_pull_policy=driver.image_pull_policy,
            image_pull_secrets=driver.image_pull_secrets,
            tolerations=[toleration.model_dump(exclude_none=True) for toleration in driver.tolerations],
            priority_class_name=driver.priority_class_name,
            resources=driver.resources.model_dump(),
            health_port=driver.health_port,
            args=driver.args,
            env=driver.env,
            host_paths=driver.host_paths,
            kubelet_root=driver.kubelet_root,
            cdi_root=driver.cdi_root,
        ),
        granular_status=cluster.capabilities.granular_status,
        max_unavailable=driver.max_unavailable,
        critical_pod_quota=driver.critical_pod_quota,
        protect_namespace=cluster.protect_namespaces,
        rollout_timeout=driver.rollout_timeout,
    )
