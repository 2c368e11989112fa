"""From captured texts to the server: the matrix first, then what its companions add, then the doubts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from topology.assumptions import assume, read_assumptions
from topology.doubts import doubts
from topology.errors import TopologyError
from topology.info import Chip, read_info
from topology.matrix import Matrix, read_matrix
from topology.model import Npu, Server
from topology.pci import PciPlace, read_pci

Read = TypeVar("Read")


def read_server(
    name: str, topo: str, info: str | None = None, pci: str | None = None, assumed: str | None = None
) -> Server:
    """The server that the texts describe.

    topo: `npu-smi info -t topo`; info: `npu-smi info`; pci: see topology.pci; assumed: see topology.assumptions.
    TopologyError where a text cannot be trusted; what is doubtful but harmless is in the server's warnings.
    """
    matrix = read_matrix(topo)
    chips = _by_label(_read("info.txt", read_info, info), matrix) if info is not None else {}
    places = _read("pci.txt", read_pci, pci) if pci is not None else {}
    warnings = list(matrix.warnings)
    if info is not None:
        warnings += _strangers(matrix, chips)
    order = sorted(range(len(matrix.ids)), key=lambda i: matrix.ids[i])
    npus = []
    for i in order:
        npu = _describe(Npu(matrix.ids[i], affinity=matrix.affinity[i]), chips.get(matrix.ids[i], ()))
        if pci is not None:
            if npu.bus_id is None or npu.bus_id not in places:
                warnings.append(
                    f"pci.txt has no line for {matrix.label}{npu.id}; its root complex and NUMA node are unknown."
                )
            else:
                npu = _place(npu, places[npu.bus_id])
        npus.append(npu)
    for found in chips.values():
        warnings += [f"{matrix.label}{chip.npu} reports health {chip.health}." for chip in found if chip.health != "OK"]
    server = Server(
        name=name,
        label=matrix.label,
        npus=tuple(npus),
        relations=tuple(tuple(matrix.cells[i][j] for j in order) for i in order),
        warnings=tuple(warnings),
    )
    server = doubts(server, matrix.legend)
    if assumed is not None:
        server = assume(
            server, {key: found.value for key, found in _read("assumed.yaml", read_assumptions, assumed).items()}
        )
    return server


def _read(source: str, read: Callable[[str], Read], text: str) -> Read:
    try:
        return read(text)
    except TopologyError as error:
        raise error.found_in(source) from None


def _by_label(chips: tuple[Chip, ...], matrix: Matrix) -> Mapping[int, tuple[Chip, ...]]:
    """Matrix id → the chips it stands for: one by physical id where the labels are, else all the chips of a card."""
    found: dict[int, list[Chip]] = {}
    for chip in chips:
        key = chip.phy_id if matrix.label == "Phy-ID" else chip.npu
        if key is None:
            raise TopologyError(
                "the matrix is labelled by Phy-ID, but this `npu-smi info` prints none.",
                remedy="Capture both on the same server.",
            )
        found.setdefault(key, []).append(chip)
    return {key: tuple(value) for key, value in found.items()}


def _strangers(matrix: Matrix, chips: Mapping[int, tuple[Chip, ...]]) -> list[str]:
    if not set(matrix.ids) & set(chips):
        raise TopologyError(
            "`npu-smi info` and the matrix have no NPU in common.", remedy="Capture both on the same server."
        )
    warnings = [f"`npu-smi info` does not list {matrix.label}{id}." for id in matrix.ids if id not in chips]
    return warnings + [f"the matrix does not list {matrix.label}{id}." for id in sorted(set(chips) - set(matrix.ids))]


def _describe(npu: Npu, chips: tuple[Chip, ...]) -> Npu:
    """With what the chips of its row agree on; a row of a card with two chips has no memory size of its own."""
    if not chips:
        return npu
    names = {chip.name for chip in chips}
    buses = {chip.bus_id for chip in chips}
    return replace(
        npu,
        chip=names.pop() if len(names) == 1 else None,
        bus_id=buses.pop() if len(buses) == 1 else None,
        memory_mib=chips[0].memory_mib if len(chips) == 1 else None,
    )


def _place(npu: Npu, place: PciPlace) -> Npu:
    return replace(npu, pcie_root=place.root, numa_node=place.numa_node)
