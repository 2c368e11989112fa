"""`ClaimAdmission`: rules on claims that the API server holds itself, whoever sends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.labels import MANAGED
from policy.admission.objects import Action, AdmissionPolicy

_admission = kubernetes.admissionregistration.v1


@dataclass(frozen=True, kw_only=True)
class ClaimAdmissionArgs:
    """policies: as policy.admission.objects makes them. action: what those of errors do; others never refuse.

    Namespaces with the label that policy.admission.objects.EXEMPT names are left alone.
    """

    policies: Sequence[AdmissionPolicy]
    action: Action = Action.WARN


class ClaimAdmission(pulumi.ComponentResource):
    """names: of the policies, in the order given; each has a binding of its own name."""

    names: tuple[str, ...]

    def __init__(self, name: str, args: ClaimAdmissionArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:ClaimAdmission", name, None, opts)
        for one in args.policies:
            metadata = kubernetes.meta.v1.ObjectMetaArgs(name=one.name, labels=MANAGED)
            spec: Any = one.spec
            policy = _admission.ValidatingAdmissionPolicy(
                f"{name}-{one.name}", metadata=metadata, spec=spec, opts=pulumi.ResourceOptions(parent=self)
            )
            binding: Any = one.binding(args.action)
            _admission.ValidatingAdmissionPolicyBinding(
                f"{name}-{one.name}-binding",
                metadata=metadata,
                spec=binding,
                # It goes first: a binding without its policy does nothing and stays unnoticed.
                opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
            )
        self.names = tuple(one.name for one in args.policies)
        self.register_outputs({"names": list(self.names)})
