"""Worlds made by hand, small enough to work out what a search in them does: devices, slices, claims, and the search."""

from __future__ import annotations

from typing import Any

from topology.allocator import VERSIONS, Allocated, Outcome, allocate, read_world

DRIVER = "npu.example"
API = "resource.k8s.io/v1"
Plain = dict[str, Any]


def wrap(kind: str, name: str, spec: Plain, **more: Any) -> Plain:
    return {"kind": kind, "apiVersion": API, "metadata": {"name": name, "namespace": "default"}, "spec": spec, **more}


def device(name: str, attributes: Plain | None = None, **more: Any) -> Plain:
    kinds: dict[type, str] = {bool: "bool", int: "int", str: "string"}
    return {"name": name, "attributes": {k: {kinds[type(v)]: v} for k, v in (attributes or {}).items()}, **more}


def npus(count: int, group: int = 8) -> list[Plain]:
    """Devices npu-0 … of one ring for every `group`."""
    return [device(f"npu-{n}", {"ring": n // group, "id": n}) for n in range(count)]


def slice_of(devices: list[Plain], name: str = "s", pool: str = "n", **more: Any) -> Plain:
    held = {"name": pool, "generation": 1, "resourceSliceCount": 1}
    return wrap("ResourceSlice", name, {"driver": DRIVER, "nodeName": "n", "pool": held, "devices": devices} | more)


def one(name: str = "r", count: int = 1, **more: Any) -> Plain:
    return {"name": name, "exactly": {"deviceClassName": "any", "count": count, **more}}


def everything(name: str = "r") -> Plain:
    return {"name": name, "exactly": {"deviceClassName": "any", "allocationMode": "All"}}


def cel(expression: str) -> list[Plain]:
    return [{"cel": {"expression": expression}}]


def busy(*names: str, **more: Any) -> Plain:
    results = [{"request": "r", "driver": DRIVER, "pool": "n", "device": name, **more} for name in names]
    return wrap("ResourceClaim", "busy", {}, status={"allocation": {"devices": {"results": results}}})


def run(
    things: list[Plain],
    *requests: Plain,
    constraints: list[Plain] | None = None,
    version: str = "1.37",
    claims: int = 1,
    classes: Plain | None = None,
    limit: int = 10**9,
) -> Outcome:
    """Allocate `claims` equal claims of these requests on node n."""
    spec = {"devices": {"requests": list(requests), "constraints": constraints or []}}
    pending = [wrap("ResourceClaim", f"c{number}", spec) for number in range(claims)]
    node = {"kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}}}
    world = read_world([node, wrap("DeviceClass", "any", classes or {}), *things, *pending])
    mine = [claim for claim in world.claims if claim.taken is None]
    return allocate(world, world.nodes[0], mine, VERSIONS[version], limit)


def given(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Allocated), outcome
    return [one.device for claim in outcome.devices for one in claim]


RING = [{"matchAttribute": f"{DRIVER}/ring"}]
