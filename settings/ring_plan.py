"""From what the stack file names to what is published: servers read, templates compiled, classes named. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from settings.errors import Problem, SettingsError
from settings.explain import dotted
from settings.load import read
from settings.proofs import read_proofs
from settings.ring import Ring
from settings.servers import SHIPPED, ServerNotFound, find_server, proofs_of
from topology.claims import compile_templates
from topology.classes import DeviceClass, chip_class, device_classes
from topology.errors import TopologyError
from topology.model import Server
from topology.profiles import PROFILES, DriverProfile
from topology.proof import key as proof_key
from topology.template import Template


@dataclass(frozen=True)
class RingPlan:
    """templates: for each server, in the order of the stack file. extended_resources: DeviceClass → resource name.

    node_labels: those by which the driver finds its nodes; empty where the stack does not install it.
    """

    profile: DriverProfile
    templates: tuple[tuple[Server, tuple[Template, ...]], ...]
    classes: tuple[DeviceClass, ...]
    extended_resources: Mapping[str, str]
    namespaces: tuple[str, ...]
    node_labels: Mapping[str, str]

    @property
    def servers(self) -> tuple[Server, ...]:
        return tuple(server for server, _ in self.templates)

    @property
    def all_templates(self) -> tuple[Template, ...]:
        return tuple(template for _, templates in self.templates for template in templates)


def plan_of_stack(project: Path, stack: str) -> RingPlan:
    """The plan of `Pulumi.<stack>.yaml` in the folder of the project. SettingsError."""
    path = project / f"Pulumi.{stack}.yaml"
    ring = read(path).ring
    if ring is None:
        problem = Problem(
            dotted(["ring"]), "is missing, so there is nothing to plan.", "Add it, or name another stack."
        )
        raise SettingsError([problem], path.name)
    return plan(ring, project, path.name)


def plan(ring: Ring, project: Path, source: str) -> RingPlan:
    """The plan. project: what relative paths of servers start from. SettingsError tells every problem at once."""
    profile = PROFILES[ring.profile]
    found: list[Problem] = []
    servers = _servers(ring, project, found)
    templates = tuple((server, _templates(server, ring, profile, found)) for server in servers)
    if not found:
        found += _unproven(ring, project, profile, templates)
    classes = device_classes(servers, profile)
    resources = _extended_resources(ring, profile, servers, classes, found) if servers else {}
    if found:
        raise SettingsError(found, source)
    labels = dict(ring.installed.node_selector) if ring.installed else {}
    return RingPlan(profile, templates, classes, resources, ring.namespaces, labels)


def _servers(ring: Ring, project: Path, found: list[Problem]) -> list[Server]:
    servers: list[Server] = []
    for index, entry in enumerate(ring.servers):
        key = dotted(["ring", "servers", index])
        try:
            server = find_server(_place(entry, project))
        except ServerNotFound as error:
            found.append(Problem(key, str(error), "See docs/capture.md for how to add one."))
            continue
        except TopologyError as error:
            line = f"line {error.line}: " if error.line is not None else ""
            found.append(Problem(key, f"{entry}: {line}{error.reason}", error.remedy))
            continue
        if any(server.name == other.name for other in servers):
            reason = f"{entry} is called {server.name}, as another is, so their templates would have the same names."
            found.append(Problem(key, reason, "Rename the folder of one."))
            continue
        servers.append(server)
    for name in ring.counts:
        if not found and all(name != server.name for server in servers):
            close = get_close_matches(name, [server.name for server in servers], n=1)
            remedy = f"Did you mean {close[0]}?" if close else "Add it there, or remove it here."
            found.append(Problem(dotted(["ring", "counts", name]), f"{name} is none of ring.servers.", remedy))
    return servers


def _place(entry: str, project: Path) -> str:
    """A name is one of servers/, whatever else is in the current folder; a path starts at the project."""
    if "/" in entry:
        return str(project / entry)
    shipped = SHIPPED / entry
    return str(shipped) if shipped.exists() else entry


def _templates(server: Server, ring: Ring, profile: DriverProfile, found: list[Problem]) -> tuple[Template, ...]:
    counts = ring.counts.get(server.name)
    try:
        return compile_templates(server, profile, counts, relaxed=ring.relaxed)
    except TopologyError as error:
        key = ["ring", "servers"] if server.faults or counts is None else ["ring", "counts", server.name]
        found.append(Problem(dotted(key), error.reason, error.remedy))
        return ()


def _unproven(
    ring: Ring, project: Path, profile: DriverProfile, templates: Sequence[tuple[Server, Sequence[Template]]]
) -> list[Problem]:
    """Nothing unproven is deployed: each template needs a proof of just what it says, on just this wiring."""
    found: list[Problem] = []
    for index, (entry, (server, its)) in enumerate(zip(ring.servers, templates, strict=True)):
        path = dotted(["ring", "servers", index])
        place = proofs_of(_place(entry, project))
        if place is None:
            reason = f"{entry} is a single file, which has no place for the proofs of its templates."
            found.append(Problem(path, reason, "Make it a folder with a topo.txt; see docs/capture.md."))
            continue
        proofs = read_proofs(place)
        missing = [
            t.name for t in its if (proof := proofs.get(proof_key(server, t, profile))) is None or not proof.holds
        ]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            remedy = f"Run `.venv/bin/ringfence claims prove {entry}` and commit the proofs.json that it writes."
            found.append(Problem(path, f"{missing[0]}{others} of {entry} is not proven for this wiring.", remedy))
    return found


def _extended_resources(
    ring: Ring, profile: DriverProfile, servers: Sequence[Server], classes: Sequence[DeviceClass], found: list[Problem]
) -> Mapping[str, str]:
    names = {one.name: one.name for one in classes}
    names |= {npu.chip: chip_class(profile, npu.chip) for server in servers for npu in server.npus if npu.chip}
    chosen: dict[str, str] = {}
    for key, resource in ring.extended_resources.items():
        path = dotted(["ring", "extendedResources", key])
        if key not in names:
            remedy = f"Write one of {', '.join(names)}."
            found.append(Problem(path, "is neither a DeviceClass of this stack nor a chip of its servers.", remedy))
        elif names[key] in chosen:
            found.append(Problem(path, f"the DeviceClass {names[key]} has a resource name already.", "Remove one."))
        elif resource in chosen.values():
            # Of two classes with one name, the one created later wins (extendedresourcecache).
            reason = f"{resource} names another DeviceClass too, and which of them a pod gets depends on their age."
            found.append(Problem(path, reason, "Use a name for each."))
        else:
            chosen[names[key]] = resource
    return chosen
