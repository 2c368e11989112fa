"""The program: the stack file, the servers it names, their templates, and the few components that deploy them."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components import ring
from components.providers import provider
from settings.errors import SettingsError
from settings.load import load
from settings.ring_plan import plan

try:
    stack = load()
    planned = (
        plan(stack.ring, Path(__file__).resolve().parent, f"Pulumi.{pulumi.get_stack()}.yaml") if stack.ring else None
    )
except SettingsError as error:
    raise pulumi.RunError(str(error)) from None

cluster = provider("cluster", stack.cluster)
there = pulumi.ResourceOptions(providers=[cluster])
exports = {}
if stack.ring is not None and planned is not None:
    for server in planned.servers:
        for warning in server.warnings:
            pulumi.log.warn(f"{server.name}: {warning}")
    exports |= ring.deploy(stack.ring, planned, stack.cluster, there)

for name, value in exports.items():
    pulumi.export(name, value)
