"""Wirings to test with, and the layouts in which builds of npu-smi print them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from topology.capture import read_server
from topology.model import Server

SERVERS = Path(__file__).parents[2] / "servers"
Relate = Callable[[int, int], str]


def shipped(name: str) -> Server:
    """A server of servers/, read from its captures."""
    folder = SERVERS / name
    texts = {
        key: folder / file for key, file in (("info", "info.txt"), ("pci", "pci.txt"), ("assumed", "assumed.yaml"))
    }
    return read_server(
        name,
        (folder / "topo.txt").read_text(),
        **{key: path.read_text() for key, path in texts.items() if path.exists()},
    )


def box16(a: int, b: int) -> str:
    """Two rings of 8 by PIX partners i, i+8, two NUMA nodes."""
    if a // 8 == b // 8:
        return "HCCS"
    if abs(a - b) == 8:
        return "PIX"
    return "PHB" if (a % 8) // 4 == (b % 8) // 4 else "SYS"


def quads_910a(a: int, b: int) -> str:
    """910A: two quads; inside one, two NPUs of a NUMA node print PHB although they are linked."""
    if a // 4 == b // 4:
        return "PHB" if a // 2 == b // 2 else "HCCS"
    return "SYS"


def modules(a: int, b: int) -> str:
    """A3: two dies a module, all modules behind a switch."""
    return "SIO" if a // 2 == b // 2 else "HCCS_SW"


def mesh(a: int, b: int) -> str:
    return "HCCS"


def text(
    relate: Relate,
    ids: Sequence[int] = tuple(range(8)),
    affinity: Callable[[int], str] | None = lambda id: "0-23" if id < 4 else "24-47",
    label: str = "NPU",
    gap: str = "       ",
    lead: str = "\t   ",
    legend: str = "",
) -> str:
    """The matrix of the ids, with cells apart by `gap` and the header after `lead`."""
    names = [f"{label}{id}" for id in ids]
    tail = [] if affinity is None else ["CPU Affinity"]
    lines = [lead + gap.join([*names, *tail])]
    for a, name in zip(ids, names, strict=True):
        cells = ["X" if a == b else relate(a, b) for b in ids]
        lines.append(gap.join([name, *cells, *([] if affinity is None else [affinity(a)])]))
    return "\n".join([*lines, legend]) + "\n"


def server(relate: Relate, **layout: object) -> Server:
    return read_server("test", text(relate, **layout))  # type: ignore[arg-type]
