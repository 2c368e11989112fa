"""The program: the stack file, the servers it names, their templates, and the few components that deploy them."""

from __future__ import annotations

from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from components.claim_templates import ClaimTemplates, ClaimTemplatesArgs
from components.device_classes import DeviceClasses, DeviceClassesArgs
from components.from_settings import driver_args
from components.npu_dra_driver import NpuDraDriver
from settings.errors import SettingsError
from settings.load import load
from settings.ring_plan import plan

try:
    stack = load()
    ring = plan(stack.ring, Path(__file__).resolve().parent, f"Pulumi.{pulumi.get_stack()}.yaml")
except SettingsError as error:
    raise pulumi.RunError(str(error)) from None

for server in ring.servers:
    for warning in server.warnings:
        pulumi.log.warn(f"{server.name}: {warning}")

cluster = kubernetes.Provider(
    "cluster",
    context=stack.cluster.context,
    kubeconfig=stack.cluster.kubeconfig,
    cluster_identifier=stack.cluster.identifier,
    enable_server_side_apply=True,
)
there = pulumi.ResourceOptions(providers=[cluster])

driver = stack.ring.installed
if driver is not None:
    installed = NpuDraDriver("npu-dra-driver", driver_args(driver, stack.cluster, ring.profile.driver), there)
    pulumi.export("driverNamespace", installed.namespace)

classes = DeviceClasses(
    "device-classes", DeviceClassesArgs(classes=ring.classes, extended_resources=ring.extended_resources), there
)
templates = ClaimTemplates(
    "claim-templates",
    ClaimTemplatesArgs(
        templates=ring.all_templates,
        namespaces=ring.namespaces,
        create_namespaces=stack.ring.create_namespaces,
        protect_namespaces=stack.cluster.protect_namespaces,
        # A template that can be used before its class is there leaves its first pods pending.
        after=[classes],
    ),
    there,
)

pulumi.export("deviceClasses", classes.names)
pulumi.export("templates", templates.published)
