"""What is assumed of a server because no capture says it: a closed set, each told wherever something rests on it.

`assumed.yaml` in a server's folder:

    chip: {value: 910B4, why: "the example slice of oFEP-0062 for this server"}
    pcie-root: {value: pix-group, why: "no pci.txt was captured"}

Assumptions never replace what was captured, and a driver on a real node never publishes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import yaml

from topology.errors import TopologyError
from topology.groups import groups
from topology.model import Npu, Server

CHIP = "chip"
PCIE_ROOT = "pcie-root"
NUMA_NODE = "numa-node"
UB_RING = "ub-ring"

MEANING: Mapping[str, str] = {
    CHIP: "every NPU of the server is this chip",
    PCIE_ROOT: "pix-group: every PIX group hangs below a root complex of its own, which no other NPU shares",
    NUMA_NODE: "affinity-group: NUMA nodes are numbered in the order of the CPU lists; only equality is known",
    UB_RING: "ring-attribute: the driver publishes a UB group as it does an HCCS ring",
}
_VALUES: Mapping[str, frozenset[str] | None] = {
    CHIP: None,
    PCIE_ROOT: frozenset({"pix-group"}),
    NUMA_NODE: frozenset({"affinity-group"}),
    UB_RING: frozenset({"ring-attribute"}),
}


@dataclass(frozen=True)
class Assumption:
    """value: what is assumed; why: where it comes from, for people."""

    value: str
    why: str


def read_assumptions(text: str) -> Mapping[str, Assumption]:
    """The assumptions of an assumed.yaml. TopologyError names the key."""
    try:
        data = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TopologyError(
            "it is no YAML.",
            line=mark.line + 1 if mark else None,
            remedy="See topology/assumptions.py for its form.",
        ) from None
    if not isinstance(data, dict):
        raise TopologyError("it is not a mapping.", remedy=f"Its keys are {', '.join(MEANING)}.")
    found: dict[str, Assumption] = {}
    for key, entry in data.items():
        if key not in MEANING:
            raise TopologyError(f"{key!r} cannot be assumed.", remedy=f"The keys are {', '.join(MEANING)}.")
        if not isinstance(entry, dict) or set(entry) != {"value", "why"}:
            raise TopologyError(f"{key}: is not a value and a why.", remedy=f"Write {key}: {{value: …, why: …}}.")
        allowed = _VALUES[key]
        if allowed is not None and entry["value"] not in allowed:
            raise TopologyError(
                f"{key}: {entry['value']!r} is not known.", remedy=f"Write {' or '.join(sorted(allowed))}."
            )
        found[key] = Assumption(str(entry["value"]), str(entry["why"]))
    return found


DEFAULTS: Mapping[str, str] = {
    PCIE_ROOT: "pix-group",
    NUMA_NODE: "affinity-group",
    UB_RING: "ring-attribute",
}
"""What a template may rest on where neither a capture nor an assumed.yaml says otherwise."""


def assume(server: Server, assumptions: Mapping[str, str] = DEFAULTS) -> Server:
    """The server with the unknowns filled that the assumptions speak of; what was captured stays as it is.

    The result's `assumptions` holds only those that filled something.
    """
    made = groups(server)
    used: dict[str, str] = dict(server.assumptions)
    npus: list[Npu] = []
    # A root or node number of which only a part was captured is not completed by invented ones.
    roots = all(npu.pcie_root is None for npu in server.npus) and assumptions.get(PCIE_ROOT) == "pix-group"
    nodes = all(npu.numa_node is None for npu in server.npus) and assumptions.get(NUMA_NODE) == "affinity-group"
    for npu in server.npus:
        changes: dict[str, str | int] = {}
        if npu.chip is None and CHIP in assumptions:
            changes["chip"] = assumptions[CHIP]
            used[CHIP] = assumptions[CHIP]
        if roots and (pix := made.pix[npu.id]) is not None:
            # Named so that nobody takes it for a root that a kernel printed.
            changes["pcie_root"] = f"assumed-pix-group-{pix}"
            used[PCIE_ROOT] = assumptions[PCIE_ROOT]
        if nodes and (numa := made.numa[npu.id]) is not None:
            changes["numa_node"] = numa
            used[NUMA_NODE] = assumptions[NUMA_NODE]
        npus.append(replace(npu, **changes))  # type: ignore[arg-type]
    if UB_RING in assumptions and any(cell == "UB" for row in server.relations for cell in row):
        used[UB_RING] = assumptions[UB_RING]
    return replace(server, npus=tuple(npus), assumptions=used)
