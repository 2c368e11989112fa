"""What a matrix says against itself is told, and never guessed away."""

from __future__ import annotations

import pytest

from tests.topology.wirings import box16, mesh, modules, quads_910a, server, text
from topology.capture import read_server
from topology.claims import compile_server
from topology.errors import TopologyError
from topology.groups import groups, members
from topology.profiles import OPENFUYAO

SOUND = {"ids": range(16), "affinity": lambda id: "0-51,104-155" if id % 8 < 4 else "52-103,156-207"}


def test_a_sound_server_raises_no_doubt() -> None:
    assert server(box16, **SOUND).warnings == ()


def test_a_910a_quad_is_a_ring_though_neighbours_print_phb() -> None:
    found = server(quads_910a, affinity=lambda id: f"{24 * (id // 2)}-{24 * (id // 2) + 23}")
    assert [sorted(ring) for ring in members(groups(found).ring)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert found.warnings == ()


def test_a_link_that_one_side_does_not_see_joins_nothing() -> None:
    found = server(lambda a, b: "SYS" if (a, b) == (0, 1) else ("HCCS" if {a, b} == {0, 1} else "SYS"), ids=(0, 1, 2))
    assert not members(groups(found).ring)
    assert "NPU0 to NPU1 reads SYS, NPU1 to NPU0 reads HCCS" in found.warnings[0]


def test_na_is_told_for_the_pair() -> None:
    found = server(lambda a, b: "NA" if {a, b} == {2, 5} else "HCCS")
    assert any("NPU2 and NPU5 read NA" in warning for warning in found.warnings)


def test_a_broken_link_inside_a_ring_is_told() -> None:
    found = server(lambda a, b: "SYS" if {a, b} == {2, 5} else "HCCS")
    assert any("NPU2 and NPU5 are in one ring, but read SYS" in warning for warning in found.warnings)
    assert len(members(groups(found).ring)) == 1


def test_npus_that_lost_all_their_links_are_told() -> None:
    found = server(lambda a, b: "SYS" if 7 in (a, b) else "HCCS")
    assert any("NPU7 in no ring, while others are" in warning for warning in found.warnings)


def test_isolated_npus_are_a_fault_and_nothing_is_compiled_from_it() -> None:
    found = server(lambda a, b: "SYS")
    assert "isolated" in found.faults[0]
    with pytest.raises(TopologyError, match="isolated"):
        compile_server(found, OPENFUYAO)


def test_one_affinity_for_everything_is_told_and_promises_no_numa_node() -> None:
    found = server(mesh, affinity=lambda id: "0-23")
    assert any("node 0" in warning for warning in found.warnings)
    assert all("NUMA" not in str(t.annotations) for t in compile_server(found, OPENFUYAO).templates)


def test_a_die_without_its_other_half_is_told() -> None:
    found = server(modules, ids=(0, 1, 2), label="Phy-ID", affinity=None)
    assert any("Phy-ID2 without the other die" in warning for warning in found.warnings)


INFO = """
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 0     910B3               | OK            | 101.8       43                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3318 / 65536         |
| 1     910B3               | Warning       | 92.0        39                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          3314 / 65536         |
"""


def pair(pci: str | None = None, info: str | None = INFO, relation: str = "PIX") -> object:
    return read_server("pair", text(lambda a, b: relation, ids=(0, 1), affinity=lambda id: "0-23"), info, pci)


def test_ill_health_is_told() -> None:
    assert any("NPU1 reports health Warning" in warning for warning in pair().warnings)  # type: ignore[attr-defined]


def test_a_pci_line_that_is_missing_leaves_the_place_unknown() -> None:
    found = pair("0000:c1:00.0 pci0000:c0 6\n")
    assert found.npu(1).pcie_root is None  # type: ignore[attr-defined]
    assert any("no line for NPU1" in warning for warning in found.warnings)  # type: ignore[attr-defined]


def test_one_switch_below_two_roots_is_told() -> None:
    found = pair("0000:c1:00.0 pci0000:c0 6\n0000:c2:00.0 pci0000:c1 6\n")
    assert any("below one switch, but pci.txt puts them below" in w for w in found.warnings)  # type: ignore[attr-defined]


def test_a_cpu_list_that_stands_for_two_nodes_is_told() -> None:
    found = pair("0000:c1:00.0 pci0000:c0 6\n0000:c2:00.0 pci0000:c0 0\n")
    assert any("NUMA nodes 0, 6" in warning for warning in found.warnings)  # type: ignore[attr-defined]


def test_an_error_names_the_capture_it_was_found_in() -> None:
    with pytest.raises(TopologyError, match=r"^pci\.txt, line 1: "):
        pair("0000:c1:00.0 six\n")


def test_captures_of_two_machines_are_refused() -> None:
    with pytest.raises(TopologyError, match="no NPU in common"):
        read_server("x", text(mesh, ids=(4, 5)), INFO)
