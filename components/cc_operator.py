"""`CcOperator`: cc-operator as its own release installs it.

That is config/release of confidential-containers/operator at v0.13.0, and not its development state, whose image is
whatever was pushed last. The DaemonSets and RuntimeClasses come later, from a CcRuntime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes
import yaml

from components.crds.definitions import GROUP, ccruntimes
from components.operator_parts import ALL, LABELS, SELECTOR, OperatorArgs, OperatorParts, Rule, from_field
from settings.cc_operator import NAMESPACE, RESOURCES

PREFIX = "cc-operator-"
SERVICE_ACCOUNT = f"{PREFIX}controller-manager"
"""The installers that a CcRuntime brings run under it too, by this fixed name."""

RULES: Sequence[Rule] = (
    ("", ["namespaces"], ["get", "update"]),
    ("", ["nodes"], ["get", "list", "patch", "update", "watch"]),
    ("apps", ["daemonsets"], ALL),
    (GROUP, ["ccruntimes"], ALL),
    (GROUP, ["ccruntimes/finalizers"], ["update"]),
    (GROUP, ["ccruntimes/status"], ["get", "patch", "update"]),
    ("node.k8s.io", ["runtimeclasses"], ALL),
)
ARGUMENTS = ("--metrics-secure", "--metrics-bind-address=:8443", "--leader-elect")
# A left-over of upstream's that nothing mounts; whoever compares the two installations finds it in both.
LEGACY_CONFIG = {
    "apiVersion": "controller-runtime.sigs.k8s.io/v1alpha1",
    "kind": "ControllerManagerConfig",
    "health": {"healthProbeBindAddress": ":8081"},
    "leaderElection": {"leaderElect": True, "resourceName": f"69bf4d38.{GROUP}"},
    "metrics": {"bindAddress": "127.0.0.1:8080"},
    "webhook": {"port": 9443},
}

_core = kubernetes.core.v1


@dataclass(frozen=True, kw_only=True)
class CcOperatorArgs(OperatorArgs):
    """See components.operator_parts."""

    namespace: str = NAMESPACE
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: RESOURCES)


class CcOperator(pulumi.ComponentResource):
    """namespace: its name.

    ready: what a CcRuntime waits for. It is removed before them, so that the operator lives to see its finalizer.
    As a plain option, `depends_on` this component would not reach the children of another.
    """

    namespace: pulumi.Output[str]
    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: CcOperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:CcOperator", name, None, opts)
        parts = OperatorParts(self, name, PREFIX, args)
        crd = parts.crd(ccruntimes())
        account = parts.service_account()
        rbac = parts.rbac(account, RULES)
        config = _core.ConfigMap(
            f"{name}-manager-config",
            metadata=parts.metadata("manager-config"),
            data={"controller_manager_config.yaml": yaml.safe_dump(LEGACY_CONFIG)},
            opts=parts.options(),
        )
        deployment = parts.deployment(
            account,
            ARGUMENTS,
            [from_field("CCRUNTIME_NAMESPACE", "metadata.namespace")],
            _core.SecurityContextArgs(allow_privilege_escalation=False),
            after=[*crd, account, *rbac, config],
        )
        _core.Service(
            f"{name}-metrics-service",
            metadata=parts.metadata("controller-manager-metrics-service", LABELS),
            spec=_core.ServiceSpecArgs(
                selector=SELECTOR,
                ports=[_core.ServicePortArgs(name="https", port=8443, protocol="TCP", target_port=8443)],
            ),
            # Pulumi waits for a Service's endpoints: after the pods, a failure is told once and where it is.
            opts=parts.options(deployment),
        )
        self.namespace = parts.namespace.metadata.name
        self.ready = (*crd, *rbac, deployment)
        self.register_outputs({"namespace": self.namespace})
