"""The search behind the proofs agrees with the replica of the allocator: the same answer, call for call."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.topology.wirings import shipped
from topology.allocator import NEWEST, Allocated, Unsatisfiable, allocate, read_world
from topology.assumptions import assume
from topology.claims import compile_templates
from topology.classes import device_classes
from topology.devices import resource_slice
from topology.model import Server
from topology.profiles import OPENFUYAO
from topology.proof import search_of
from topology.template import Template

STATES = 25


def objects(server: Server, template: Template, busy: list[int]) -> list[dict[str, Any]]:
    """The cluster as files would say it: a node, its slice, the classes, the busy devices, the pending claim."""
    driver = OPENFUYAO.driver
    taken = [
        {"request": f"r{id}", "driver": driver, "pool": "node", "device": OPENFUYAO.device_name.format(id=id)}
        for id in busy
    ]
    requests = [{"name": f"r{id}", "exactly": {"deviceClassName": OPENFUYAO.device_class}} for id in busy]
    holder = {
        "kind": "ResourceClaim",
        "metadata": {"namespace": "jobs", "name": "holder"},
        "spec": {"devices": {"requests": requests}},
        "status": {"allocation": {"devices": {"results": taken}}},
    }
    found: list[dict[str, Any]] = [
        {"kind": "Node", "metadata": {"name": "node"}},
        resource_slice(assume(server), OPENFUYAO, "node"),
        {"kind": "ResourceClaim", "metadata": {"namespace": "jobs", "name": "pending"}, "spec": dict(template.spec)},
    ]
    for one in device_classes([server], OPENFUYAO):
        selectors = [{"cel": {"expression": one.expression}}]
        found.append({"kind": "DeviceClass", "metadata": {"name": one.name}, "spec": {"selectors": selectors}})
    found += [holder] if busy else []
    return [{"apiVersion": "v1" if one["kind"] == "Node" else "resource.k8s.io/v1", **one} for one in found]


@pytest.mark.parametrize("name", ["box16", "800t-a3", "350-2p", "310p3"])
def test_proof_and_replica_agree(name: str) -> None:
    server = shipped(name)
    dice = random.Random(f"{name} agrees")
    for template in compile_templates(server, OPENFUYAO):
        search = search_of(server, template, OPENFUYAO)
        for _ in range(STATES):
            busy = sorted(dice.sample(server.ids, dice.randint(0, len(server.ids) - 1)))
            world = read_world(objects(server, template, busy))
            (pending,) = [claim for claim in world.claims if claim.key == "jobs/pending"]
            outcome = allocate(world, world.nodes[0], [pending], NEWEST, 100_000)
            assert isinstance(outcome, Allocated | Unsatisfiable), outcome
            free = sum(1 << position for position, id in enumerate(server.ids) if id not in busy)
            found = search.run(free)
            assert (found.fits, found.calls) == (isinstance(outcome, Allocated), outcome.calls), (
                f"{template.name} with {busy} busy"
            )
