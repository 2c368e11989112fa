"""Whatever stands in a dump, the replica reads it or says in one sentence what is wrong: never a traceback."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from tests.mutated import mutated
from tests.topology.random_claims import API, make
from topology.allocator import VERSIONS, Malformed, TooLong, Unmodelled, allocate, read_world
from topology.errors import TopologyError
from topology.explain import read_situation


@pytest.mark.parametrize("seed", range(8))
def test_odd_objects_are_malformed_or_not_modelled(seed: int) -> None:
    random = Random(seed)
    for number in range(150):
        case = make(1000 * seed + number, "1.37")
        objects = mutated([*case.slices, *case.classes, {"apiVersion": "v1", **case.node}, *case.claims], random)
        with suppress(Malformed, Unmodelled, TooLong):
            world = read_world(objects)
            if world.nodes:
                allocate(world, world.nodes[0], world.claims, VERSIONS["1.37"], 2_000)
        with suppress(TopologyError, Unmodelled):
            read_situation(objects)


@pytest.mark.parametrize(
    "devices",
    [
        {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "selectors": [{1: 2, 3: 4}]}}]},
        {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "tolerations": ["all"]}}]},
        {"requests": [], "constraints": [{"matchAttribute": "a/b", "requests": [{"a": 1}]}]},
    ],
)
def test_what_was_once_a_traceback(devices: dict[str, Any]) -> None:
    claim = {"apiVersion": API, "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {"devices": devices}}
    with pytest.raises((Malformed, Unmodelled)):
        read_world([claim])
