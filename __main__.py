"""The program: the stack file, what it names, and the few components that deploy it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pulumi

from components import fence, ring
from components.providers import provider
from settings.errors import SettingsError
from settings.fence_checks import warnings_of
from settings.load import load, secrets_of
from settings.ring_plan import plan

try:
    stack = load()
    secrets = secrets_of(stack)
    source = f"Pulumi.{pulumi.get_stack()}.yaml"
    planned = plan(stack.ring, Path(__file__).resolve().parent, source) if stack.ring is not None else None
except SettingsError as error:
    raise pulumi.RunError(str(error)) from None

there = pulumi.ResourceOptions(providers=[provider("cluster", stack.cluster)])
exports: dict[str, Any] = {}

if stack.ring is not None and planned is not None:
    for server in planned.servers:
        for warning in server.warnings:
            pulumi.log.warn(f"{server.name}: {warning}")
    exports |= ring.deploy(stack.ring, planned, stack.cluster, there)

if stack.fence is not None:
    for warning in warnings_of(stack.fence):
        pulumi.log.warn(warning)
    trusted = there
    if stack.fence.trusted_cluster is not None:
        trusted = pulumi.ResourceOptions(providers=[provider("trusted-cluster", stack.fence.trusted_cluster)])
    exports |= fence.deploy(stack.fence, stack.cluster, secrets, there, trusted)

for name, value in exports.items():
    pulumi.export(name, value)
