"""The devices that rules know of: of declared servers as their driver publishes them, or a cluster's slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from topology.allocator import Node, World
from topology.allocator.objects import Device, Plain, Slice
from topology.allocator.reading import read_world
from topology.assumptions import assume
from topology.claims import compile_templates
from topology.classes import device_classes
from topology.devices import resource_slice
from topology.errors import TopologyError
from topology.model import Server
from topology.profiles import DriverProfile
from topology.proof import Proof
from topology.template import Template


@dataclass(frozen=True)
class Fleet:
    """servers: declared, their unknowns as captured; profile: how their driver publishes them.

    world: slices, classes and nodes. proofs: by key, of templates for those servers.
    """

    world: World = field(default_factory=lambda: World((), (), (), ()))
    servers: tuple[Server, ...] = ()
    profile: DriverProfile | None = None
    proofs: Mapping[str, Proof] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.world.slices)

    @cached_property
    def devices(self) -> tuple[tuple[Slice, Device], ...]:
        """Every device with its slice."""
        return tuple((slice, device) for slice in self.world.slices for device in slice.devices)

    @cached_property
    def unplaced(self) -> bool:
        """Whether some devices are there for nodes by their labels, and no node's labels are known."""
        selecting = any(one.node_selector is not None for slice in self.world.slices for one in _placed(slice))
        return selecting and not any(node.labels for node in self.world.nodes)

    @cached_property
    def drivers(self) -> frozenset[str]:
        return frozenset(slice.driver for slice in self.world.slices)

    @cached_property
    def templates(self) -> Mapping[str, tuple[Server, Template]]:
        """What would be compiled for the servers, by name."""
        found: dict[str, tuple[Server, Template]] = {}
        for server in self.servers:
            if self.profile is not None and not server.faults:
                try:
                    made = compile_templates(server, self.profile)
                except TopologyError:
                    continue
                found |= {template.name: (server, template) for template in made}
        return found


def declared(servers: Sequence[Server], profile: DriverProfile, proofs: Mapping[str, Proof] | None = None) -> Fleet:
    """A fleet with one node of each server, named after it. TopologyError where a server cannot be published."""
    assumed = [assume(server) for server in servers]
    slices = [resource_slice(server, profile, server.name) for server in assumed]
    nodes = [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": server.name}} for server in servers]
    classes = [
        {
            "kind": "DeviceClass",
            "apiVersion": "resource.k8s.io/v1",
            "metadata": {"name": one.name},
            "spec": {"selectors": [{"cel": {"expression": one.expression}}]},
        }
        for one in device_classes(assumed, profile)
    ]
    return Fleet(read_world([*slices, *nodes, *classes]), tuple(servers), profile, proofs or {})


def dumped(objects: Iterable[Plain], profile: DriverProfile | None = None) -> Fleet:
    """A fleet from ResourceSlices, and from Nodes and DeviceClasses if they are there. Malformed, Unmodelled.

    Without Nodes the nodes are those that slices and devices name; for devices of all nodes any one will do.
    """
    wanted = [one for one in objects if one.get("kind") != "ResourceClaim"]
    world = read_world(wanted)
    known = {node.name for node in world.nodes}
    named = sorted({one.node_name for slice in world.slices for one in _placed(slice) if one.node_name} - known)
    if not named and not known and world.slices:
        named = ["any node"]
    return Fleet(World(world.slices, world.classes, (), (*world.nodes, *map(Node, named))), (), profile)


def _placed(slice: Slice) -> tuple[Slice | Device, ...]:
    """What says on which nodes its devices are: the slice, or each device."""
    return (slice, *slice.devices)
