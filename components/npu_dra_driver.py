"""`NpuDraDriver`: the NPU DRA driver on every node that has NPUs, with the least that it needs and a fence around it.

Namespace, workload name and image registry are those of openFuyao's chart since 2026-08 (npu-dra-driver,
npu-dra-plugin, cr.openfuyao.cn). See components.driver_pod for what is not known of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.driver_pod import DriverPod, pod_spec
from components.driver_rbac import rules
from components.labels import MANAGED
from components.slice_policy import own_slices_only

NAME = "npu-dra-plugin"
# Selectors are immutable: these two and never more.
SELECTOR = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "kubeletplugin"}
POD_SECURITY = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}


@dataclass(frozen=True, kw_only=True)
class NpuDraDriverArgs:
    """All of these decide shapes, so they are plain values; only the pod's image may be an output.

    namespace: the driver's own; it is made. granular_status: see components.driver_rbac.
    max_unavailable: nodes whose driver may be down at once during an update, 1 or "10%".
    critical_pod_quota: pods that a ResourceQuota allows of the pod's priority, for clusters that refuse critical
      priorities without one (GKE does); None makes none.
    protect_namespace: whether pulumi refuses to delete the namespace.
    rollout_timeout: seconds to wait until the driver runs on every node; 0 does not wait. Waiting is a choice: while
      one node of many is down, it fails every update of the DaemonSet and lets each refresh find a difference.
    """

    namespace: str
    pod: DriverPod
    granular_status: bool
    max_unavailable: int | str = 1
    critical_pod_quota: int | None = None
    protect_namespace: bool = True
    rollout_timeout: int = 0


class NpuDraDriver(pulumi.ComponentResource):
    """Namespace, ServiceAccount, RBAC, the fence for slices, and the DaemonSet, which starts last.

    namespace: its name. daemon_set: the DaemonSet's name.
    """

    namespace: pulumi.Output[str]
    daemon_set: pulumi.Output[str]

    def __init__(self, name: str, args: NpuDraDriverArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:NpuDraDriver", name, None, opts)
        labels = MANAGED | SELECTOR
        everywhere = kubernetes.meta.v1.ObjectMetaArgs(name=NAME, labels=labels)

        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace",
            # All three modes: with another cluster-wide default each pod would bring a warning.
            metadata=kubernetes.meta.v1.ObjectMetaArgs(name=args.namespace, labels=MANAGED | POD_SECURITY),
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect_namespace),
        )
        inside = kubernetes.meta.v1.ObjectMetaArgs(name=NAME, namespace=namespace.metadata.name, labels=labels)

        account = kubernetes.core.v1.ServiceAccount(
            f"{name}-service-account",
            metadata=inside,
            # The driver's pod asks for the token itself; nothing else that runs here by accident gets it.
            automount_service_account_token=False,
            opts=pulumi.ResourceOptions(parent=self),
        )
        role = kubernetes.rbac.v1.ClusterRole(
            f"{name}-cluster-role",
            metadata=everywhere,
            rules=rules(args.pod.driver_name, granular_status=args.granular_status),
            opts=pulumi.ResourceOptions(parent=self),
        )
        binding = kubernetes.rbac.v1.ClusterRoleBinding(
            f"{name}-cluster-role-binding",
            metadata=everywhere,
            role_ref=kubernetes.rbac.v1.RoleRefArgs(
                api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role.metadata.name
            ),
            subjects=[
                kubernetes.rbac.v1.SubjectArgs(
                    kind="ServiceAccount", name=account.metadata.name, namespace=namespace.metadata.name
                )
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
        fence = self._fence(name, args.namespace)
        before: list[pulumi.Resource] = [binding, *fence]
        if args.critical_pod_quota is not None:
            before.append(self._quota(name, inside, args.pod.priority_class_name, args.critical_pod_quota))

        if args.rollout_timeout:
            waiting = pulumi.CustomTimeouts(create=f"{args.rollout_timeout}s", update=f"{args.rollout_timeout}s")
        else:
            waiting = None
        daemon_set = kubernetes.apps.v1.DaemonSet(
            f"{name}-daemon-set",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=NAME,
                namespace=namespace.metadata.name,
                labels=labels,
                annotations=None if waiting else {"pulumi.com/skipAwait": "true"},
            ),
            spec=kubernetes.apps.v1.DaemonSetSpecArgs(
                selector=kubernetes.meta.v1.LabelSelectorArgs(match_labels=SELECTOR),
                update_strategy=kubernetes.apps.v1.DaemonSetUpdateStrategyArgs(
                    type="RollingUpdate",
                    # No surge: two of them on a node share one socket path, unless the driver gives each pod its own
                    # (kubeletplugin.RollingUpdate), which is not known of this one.
                    rolling_update=kubernetes.apps.v1.RollingUpdateDaemonSetArgs(
                        max_surge=0, max_unavailable=args.max_unavailable
                    ),
                ),
                template=kubernetes.core.v1.PodTemplateSpecArgs(
                    metadata=kubernetes.meta.v1.ObjectMetaArgs(labels=labels),
                    spec=pod_spec(args.pod, NAME),
                ),
            ),
            # Never a moment in which it may write slices and is not fenced.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[account, *before], custom_timeouts=waiting),
        )
        self.namespace = namespace.metadata.name
        self.daemon_set = daemon_set.metadata.name
        self.register_outputs({"namespace": self.namespace, "daemonSet": self.daemon_set})

    def _fence(self, name: str, namespace: str) -> list[pulumi.Resource]:
        metadata = kubernetes.meta.v1.ObjectMetaArgs(name=f"{NAME}-own-slices", labels=MANAGED | SELECTOR)
        policy = kubernetes.admissionregistration.v1.ValidatingAdmissionPolicy(
            f"{name}-slice-policy",
            metadata=metadata,
            spec=own_slices_only(namespace, NAME),
            opts=pulumi.ResourceOptions(parent=self),
        )
        binding = kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
            f"{name}-slice-policy-binding",
            metadata=metadata,
            spec=kubernetes.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpecArgs(
                policy_name=policy.metadata.name, validation_actions=["Deny"]
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        return [policy, binding]

    def _quota(
        self, name: str, metadata: kubernetes.meta.v1.ObjectMetaArgs, priority: str, pods: int
    ) -> pulumi.Resource:
        return kubernetes.core.v1.ResourceQuota(
            f"{name}-critical-pod-quota",
            metadata=metadata,
            spec=kubernetes.core.v1.ResourceQuotaSpecArgs(
                hard={"pods": str(pods)},
                scope_selector=kubernetes.core.v1.ScopeSelectorArgs(
                    match_expressions=[
                        kubernetes.core.v1.ScopedResourceSelectorRequirementArgs(
                            scope_name="PriorityClass", operator="In", values=[priority]
                        )
                    ]
                ),
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
