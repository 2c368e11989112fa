"""Explaining worlds made by hand, and doing what an explanation says."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from tests.topology.worlds import DRIVER, Plain, wrap
from topology.allocator import Allocated, allocate, read_world
from topology.explain import Explanation, OnNode, explain, lines, read_situation, subject

ANY = wrap("DeviceClass", "any", {})


def node(name: str = "n", **labels: str) -> Plain:
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}}


def claim(*requests: Plain, constraints: list[Plain] | None = None, name: str = "c") -> Plain:
    devices = {"requests": list(requests), **({"constraints": constraints} if constraints else {})}
    return wrap("ResourceClaim", name, {"devices": devices})


def match(attribute: str, *requests: str) -> Plain:
    made: Plain = {"matchAttribute": attribute if "/" in attribute else f"{DRIVER}/{attribute}"}
    return made | ({"requests": list(requests)} if requests else {})


def differ(attribute: str, *requests: str) -> Plain:
    made: Plain = {"distinctAttribute": f"{DRIVER}/{attribute}"}
    return made | ({"requests": list(requests)} if requests else {})


def held(by: str, *devices: str, pod: str | None = None, **more: Any) -> Plain:
    """An allocated claim with these devices of node n, for this pod."""
    results = [{"request": "r", "driver": DRIVER, "pool": "n", "device": device, **more} for device in devices]
    status: Plain = {"allocation": {"devices": {"results": results}}}
    if pod is not None:
        status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": "u"}]
    return wrap("ResourceClaim", by, {"devices": {"requests": []}}, status=status)


def explained(objects: Iterable[Plain], name: str = "c", **more: Any) -> Explanation:
    situation = read_situation([node(), ANY, *objects] if not any(o["kind"] == "Node" for o in objects) else objects)
    return explain(situation, subject(situation, name), **more)


def alone(explanation: Explanation) -> OnNode:
    (one,) = explanation.nodes
    return one


def text(explanation: Explanation) -> str:
    return "\n".join(lines(explanation))


def freed(objects: Iterable[Plain], explanation: Explanation) -> list[Plain]:
    """The objects once the devices are freed that the explanation of the only node names."""
    free = alone(explanation).remedies.free
    assert free is not None, "freeing must be a remedy"
    gone = [(one.claim, one.device) for one in free.holdings]
    after = []
    for thing in deepcopy(list(objects)):
        results = thing.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
        key = f"default/{thing['metadata']['name']}"
        for one in list(results):
            its = (key, (one["driver"], one["pool"], one["device"]))
            if its in gone:
                results.remove(one)
                gone.remove(its)
        after.append(thing)
    assert not gone, "only what is held can be freed"
    return after


def fits(objects: Iterable[Plain]) -> bool:
    """Whether the pending claims fit on node n, as the replica says."""
    objects = list(objects)
    have = {one["kind"] for one in objects}
    world = read_world([*([] if "Node" in have else [node()]), *objects, *([] if "DeviceClass" in have else [ANY])])
    pending = [one for one in world.claims if one.taken is None]
    return isinstance(allocate(world, world.nodes[0], pending), Allocated)


def devices_of(explanation: Explanation) -> list[str]:
    free = alone(explanation).remedies.free
    return [one.device[2] for one in free.holdings] if free is not None else []
