"""From a server to what its driver publishes: device attributes and the ResourceSlice. What is unknown is absent.

Shapes and caps: resource.k8s.io/v1 (128 devices a slice, 64 characters a string value).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.assumptions import UB_RING
from topology.errors import TopologyError
from topology.groups import Groups, groups
from topology.model import Npu, Relation, Server
from topology.orders import slice_order
from topology.profiles import DriverProfile
from topology.quads import quads

MAX_DEVICES_PER_SLICE = 128

Value = int | str


def attributes(server: Server, profile: DriverProfile) -> Mapping[int, Mapping[str, Value]]:
    """NPU id → attribute name as in a slice → value, for what is known of it and the profile's driver publishes."""
    made = groups(server)
    quad = quads(server) if profile.quad is not None else {}
    return {npu.id: _attributes(server, made, npu, profile, quad.get(npu.id)) for npu in server.npus}


def _attributes(
    server: Server, made: Groups, npu: Npu, profile: DriverProfile, quad: int | None
) -> Mapping[str, Value]:
    ring = made.ring[npu.id]
    if UB_RING not in server.assumptions and any(cell is Relation.UB for row in server.relations for cell in row):
        # No public driver says how it publishes UB groups.
        ring = None
    values: list[tuple[str | None, Value | None]] = [
        (profile.physical_id, npu.id),
        (profile.chip, npu.chip),
        (profile.pci_bus_id, npu.bus_id),
        (profile.pcie_root, npu.pcie_root),
        (profile.numa, npu.numa_node),
        (profile.ring, ring),
        (profile.sio, made.sio[npu.id]),
        (profile.quad, quad),
    ]
    return {name: value for name, value in values if name is not None and value is not None}


def resource_slice(server: Server, profile: DriverProfile, node: str) -> dict[str, Any]:
    """The ResourceSlice of the node, as the driver would publish it: one pool named after the node."""
    if len(server.npus) > MAX_DEVICES_PER_SLICE:
        raise TopologyError(
            f"{len(server.npus)} NPUs do not fit one slice, which takes {MAX_DEVICES_PER_SLICE}.",
            remedy="No known server has so many; check the capture.",
        )
    known = attributes(server, profile)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{profile.driver}"},
        "spec": {
            "driver": profile.driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(server.npu(id), known[id], profile) for id in slice_order(server, profile.order)],
        },
    }


def _device(npu: Npu, known: Mapping[str, Value], profile: DriverProfile) -> dict[str, Any]:
    device: dict[str, Any] = {
        "name": profile.device_name.format(id=npu.id),
        "attributes": {
            name: {"int": value} if isinstance(value, int) else {"string": value} for name, value in known.items()
        },
    }
    if profile.memory is not None and npu.memory_mib is not None:
        device["capacity"] = {profile.memory: {"value": quantity(npu.memory_mib)}}
    return device


def quantity(mib: int) -> str:
    """MiB as the API server writes it back, in the largest whole binary unit: 65536 → "64Gi", 44280 → "44280Mi"."""
    for unit in ("Mi", "Gi"):
        if mib % 1024:
            return f"{mib}{unit}"
        mib //= 1024
    return f"{mib}Ti"
