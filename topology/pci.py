"""Reading `pci.txt`: what the kernel knows of each PCI device, one a line, as docs/capture.md says how to take it.

    0000:c1:00.0 pci0000:c0 6

PCI address, root complex, NUMA node; -1 is the kernel's word for a node it does not know. npu-smi tells neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from topology.errors import TopologyError
from topology.info import normal_bus_id
from topology.terminal import printed

_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_FORM = (
    "Write `<domain:bus:device.function> <pci domain:bus> <NUMA node or -1>`, for example `0000:c1:00.0 pci0000:c0 6`."
)


@dataclass(frozen=True)
class PciPlace:
    """root: the root complex, "pci<domain>:<bus>"; numa_node: None where the kernel says -1."""

    root: str
    numa_node: int | None


def read_pci(text: str) -> Mapping[str, PciPlace]:
    """PCI address → where it hangs. Blank lines and # comments are left out. TopologyError names the line."""
    places: dict[str, PciPlace] = {}
    for number, line in enumerate(printed(text).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        bus_id = normal_bus_id(words[0])
        if len(words) != 3 or bus_id is None or not _ROOT.fullmatch(words[1]) or not re.fullmatch(r"-1|\d+", words[2]):
            raise TopologyError(f"{line.strip()!r} is not a PCI device's place.", line=number, remedy=_FORM)
        if bus_id in places:
            raise TopologyError(
                f"{bus_id} stands here a second time.", line=number, remedy="Keep one line for a device."
            )
        places[bus_id] = PciPlace(words[1], None if words[2] == "-1" else int(words[2]))
    return places
