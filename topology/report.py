"""A server as the JSON that `ringfence topo show --json` prints."""

from __future__ import annotations

from typing import Any

from topology.groups import groups
from topology.model import Server


def report(server: Server) -> dict[str, Any]:
    """{"npus": [{"id", "ring", "sio", "pix", "phb", "numa", "affinity", …}], "relations": [[…]], "warnings": […]}.

    Group numbers and what else is unknown are null. Beyond the contract each NPU has what the companion captures say:
    chip, busId, memoryMiB, pcieRoot, numaNode (the kernel's number; `numa` only groups).
    """
    made = groups(server)
    return {
        "npus": [
            {
                "id": npu.id,
                "ring": made.ring[npu.id],
                "sio": made.sio[npu.id],
                "pix": made.pix[npu.id],
                "phb": made.phb[npu.id],
                "numa": made.numa[npu.id],
                "affinity": npu.affinity,
                "chip": npu.chip,
                "busId": npu.bus_id,
                "memoryMiB": npu.memory_mib,
                "pcieRoot": npu.pcie_root,
                "numaNode": npu.numa_node,
            }
            for npu in server.npus
        ],
        "relations": [[str(cell) for cell in row] for row in server.relations],
        "warnings": [*server.warnings, *server.faults],
        "assumptions": dict(sorted(server.assumptions.items())),
    }
