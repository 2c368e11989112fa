"""What the driver's ServiceAccount may do. All of it is cluster-wide because claims may be in any namespace."""

from __future__ import annotations

import pulumi_kubernetes as kubernetes

_GROUP = "resource.k8s.io"


def rules(driver_name: str, *, granular_status: bool) -> list[kubernetes.rbac.v1.PolicyRuleArgs]:
    """What the kubelet plugin library (k8s.io/dynamic-resource-allocation/kubeletplugin) uses, and no more.

    granular_status: whether the cluster asks for `resourceclaims/driver` besides when a driver writes a claim's status
    (1.36 and later, kubernetes/kubernetes#138149; without it such pods hang in ContainerCreating).
    """
    rule = kubernetes.rbac.v1.PolicyRuleArgs
    found = [
        rule(api_groups=[_GROUP], resources=["resourceclaims"], verbs=["get", "list", "watch"]),
        rule(api_groups=[_GROUP], resources=["resourceclaims/status"], verbs=["patch", "update"]),
        # Which slices is for the admission policy to say: RBAC knows no node.
        rule(
            api_groups=[_GROUP],
            resources=["resourceslices"],
            verbs=["create", "delete", "get", "list", "patch", "update", "watch"],
        ),
        # The owner reference of its slices.
        rule(api_groups=[""], resources=["nodes"], verbs=["get"]),
    ]
    if granular_status:
        found.append(
            rule(
                api_groups=[_GROUP],
                resources=["resourceclaims/driver"],
                # Only claims allocated to its own node, only the part of its own driver.
                verbs=["associated-node:patch", "associated-node:update"],
                resource_names=[driver_name],
            )
        )
    return found
