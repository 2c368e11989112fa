"""Reading the table that `npu-smi info` prints: names, PCI addresses and memory.

Each chip takes two lines. The table's second header line says what its cells are: `Chip`, `Chip Device` (310P) or
`Chip Phy-ID` (A3) first, then the Bus-Id, then usages `used / total`, with an HBM column on chips that have HBM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from topology.errors import TopologyError
from topology.terminal import printed

_BUS_ID = re.compile(r"([0-9A-Fa-f]{4,8}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])")
_USAGE = re.compile(r"(\d+)\s*/\s*(\d+)")
_CAPTURE = "Run `npu-smi info` on the host itself and keep all that it prints."


@dataclass(frozen=True)
class Chip:
    """One chip of the table. npu: the card's id; chip: its number on the card; phy_id: only where the tool prints it.

    bus_id is lower case; memory_mib is the total (HBM where there is an HBM column, else memory); None is unknown.
    """

    npu: int
    chip: int
    phy_id: int | None
    name: str
    health: str
    bus_id: str | None
    memory_mib: int | None


def read_info(text: str) -> tuple[Chip, ...]:
    """The chips of the table, in its order. TopologyError where there is no table or one that is cut."""
    chips: list[Chip] = []
    first: tuple[int, list[str]] | None = None
    heading: list[str] | None = None
    for number, line in enumerate(printed(text).splitlines(), start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else []
        if len(cells) < 3:
            continue
        words = cells[0].split()
        if words[:1] == ["Chip"] and cells[1] == "Bus-Id":
            heading = cells
        elif "Process" in line and "id" in line:
            break
        elif heading is None or not words or not words[0].isdigit():
            continue
        elif first is None:
            first = (number, cells)
        else:
            chips.append(_chip(first, (number, cells), heading))
            first = None
    if heading is None:
        raise TopologyError("there is no `npu-smi info` table here.", remedy=_CAPTURE)
    if first is not None:
        raise TopologyError("the table ends between the two lines of a chip.", line=first[0], remedy=_CAPTURE)
    if not chips:
        raise TopologyError("the table names no chip.", remedy=_CAPTURE)
    return tuple(chips)


def _chip(first: tuple[int, list[str]], second: tuple[int, list[str]], heading: list[str]) -> Chip:
    upper, lower = first[1], second[1]
    try:
        npu, name = upper[0].split(maxsplit=1)
        numbers = [int(word) for word in lower[0].split()]
        named = dict(zip(heading[0].split(), numbers, strict=True))
        chip = Chip(
            npu=int(npu),
            chip=named["Chip"],
            phy_id=named.get("Phy-ID"),
            name=name,
            health=upper[1],
            bus_id=normal_bus_id(lower[1]),
            memory_mib=_memory(lower[2], heading[2]),
        )
    except (ValueError, KeyError, IndexError):
        raise TopologyError("this chip's two lines do not fit the heading.", line=second[0], remedy=_CAPTURE) from None
    return chip


def normal_bus_id(text: str) -> str | None:
    """A PCI address as the kernel writes it, domain:bus:device.function in lower case; None for anything else."""
    match = _BUS_ID.fullmatch(text.strip())
    return match.group(0).lower() if match else None


def _memory(cell: str, heading: str) -> int | None:
    totals = [int(total) for _, total in _USAGE.findall(cell)]
    columns = [word for word in heading.split() if word.endswith("-Usage(MB)")]
    if len(totals) != len(columns):
        return None
    named = dict(zip(columns, totals, strict=True))
    total = named.get("HBM-Usage(MB)") or named.get("Memory-Usage(MB)")
    return total or None
