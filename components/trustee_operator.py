"""`TrusteeOperator`: trustee-operator as config/default of confidential-containers/trustee-operator installs v0.5.0.

Which key broker runs is decided here and nowhere else: its images are environment of the operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

from components.crds.definitions import GROUP, kbsconfigs
from components.operator_parts import ALL, READ, OperatorArgs, OperatorParts, Rule, from_field
from settings.trustee_operator import NAMESPACE, RESOURCES

PREFIX = "trustee-operator-"
RULES: Sequence[Rule] = (
    # In every namespace: upstream's manager watches them all, whatever it needs.
    ("", ["configmaps", "secrets"], READ),
    ("", ["namespaces"], ["get", "update"]),
    ("", ["services"], ALL),
    ("apps", ["deployments"], ALL),
    (GROUP, ["kbsconfigs"], ALL),
    (GROUP, ["kbsconfigs/finalizers"], ["update"]),
    (GROUP, ["kbsconfigs/status"], ["get", "patch", "update"]),
)
ARGUMENTS = ("--metrics-bind-address=:8443", "--leader-elect", "--health-probe-bind-address=:8081")

_core = kubernetes.core.v1


@dataclass(frozen=True, kw_only=True)
class TrusteeImages:
    """All four, always: left out, the operator would take `latest` for the last two.

    kbs: with the attestation service built in, for AllInOneDeployment. The others are for MicroservicesDeployment.
    """

    kbs: pulumi.Input[str]
    kbs_microservices: pulumi.Input[str]
    attestation_service: pulumi.Input[str]
    rvps: pulumi.Input[str]


@dataclass(frozen=True, kw_only=True)
class TrusteeOperatorArgs(OperatorArgs):
    """See components.operator_parts. The pull secrets go to the operator and to the key broker."""

    images: TrusteeImages
    namespace: str = NAMESPACE
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: RESOURCES)


class TrusteeOperator(pulumi.ComponentResource):
    """namespace: its name, the only one where it heeds a KbsConfig.

    ready: what a KbsConfig waits for. It is removed before them, so that the operator lives to see its finalizer.
    As a plain option, `depends_on` this component would not reach the children of another.
    """

    namespace: pulumi.Output[str]
    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: TrusteeOperatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:TrusteeOperator", name, None, opts)
        parts = OperatorParts(self, name, PREFIX, args)
        crd = parts.crd(kbsconfigs())
        account = parts.service_account()
        rbac = parts.rbac(account, RULES)
        default = self._default_account(name, parts, account)
        images = {
            "KBS_IMAGE_NAME": args.images.kbs,
            "KBS_IMAGE_NAME_MICROSERVICES": args.images.kbs_microservices,
            "AS_IMAGE_NAME": args.images.attestation_service,
            "RVPS_IMAGE_NAME": args.images.rvps,
        }
        deployment = parts.deployment(
            account,
            ARGUMENTS,
            [
                from_field("POD_NAMESPACE", "metadata.namespace"),
                *(_core.EnvVarArgs(name=variable, value=image) for variable, image in images.items()),
            ],
            _core.SecurityContextArgs(
                allow_privilege_escalation=False, capabilities=_core.CapabilitiesArgs(drop=["ALL"])
            ),
            after=[*crd, account, *rbac],
        )
        self.namespace = parts.namespace.metadata.name
        self.ready = (*crd, *rbac, *default, deployment)
        self.register_outputs({"namespace": self.namespace})

    def _default_account(self, name: str, parts: OperatorParts, account: pulumi.Resource) -> list[pulumi.Resource]:
        """What opens the registry for the key broker's pod, which names neither an account nor a pull secret.

        Kubernetes makes the account `default` of a namespace, a moment after it and whenever it is missing. So it is
        not this stack's to own: one field is applied to it, which makes it should that moment not have come, and
        given up when the stack goes.
        """
        references = parts.references()
        if references is None:
            return []
        return [
            _core.ServiceAccountPatch(
                f"{name}-default-account",
                metadata=kubernetes.meta.v1.ObjectMetaPatchArgs(
                    name="default", namespace=parts.namespace.metadata.name
                ),
                image_pull_secrets=[_core.LocalObjectReferencePatchArgs(name=one.name) for one in references],
                opts=parts.options(account),
            )
        ]
