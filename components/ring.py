"""The half `ring`: the driver, the DeviceClasses and the templates of a plan, on one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from components.claim_admission import ClaimAdmission, ClaimAdmissionArgs
from components.claim_templates import ClaimTemplates, ClaimTemplatesArgs
from components.device_classes import DeviceClasses, DeviceClassesArgs
from components.from_settings import driver_args
from components.npu_dra_driver import NpuDraDriver
from policy.admission.objects import Action, policies
from settings.cluster import Cluster
from settings.ring import Ring
from settings.ring_plan import RingPlan


def deploy(ring: Ring, plan: RingPlan, cluster: Cluster, there: pulumi.ResourceOptions) -> Mapping[str, Any]:
    """Make the components on the provider of `there`. What the stack exports: name → value."""
    exports: dict[str, Any] = {}
    driver = ring.installed
    if driver is not None:
        installed = NpuDraDriver("npu-dra-driver", driver_args(driver, cluster, plan.profile.driver), there)
        exports["driverNamespace"] = installed.namespace
    classes = DeviceClasses(
        "device-classes", DeviceClassesArgs(classes=plan.classes, extended_resources=plan.extended_resources), there
    )
    templates = ClaimTemplates(
        "claim-templates",
        ClaimTemplatesArgs(
            templates=plan.all_templates,
            namespaces=plan.namespaces,
            create_namespaces=ring.create_namespaces,
            protect_namespaces=cluster.protect_namespaces,
            # A template that can be used before its class is there leaves its first pods pending.
            after=[classes],
        ),
        there,
    )
    if ring.admission is not None:
        chosen = ClaimAdmissionArgs(policies=policies(plan.profile), action=Action(ring.admission.action))
        exports["admissionPolicies"] = list(ClaimAdmission("claim-admission", chosen, there).names)
    return {**exports, "deviceClasses": classes.names, "templates": templates.published}
