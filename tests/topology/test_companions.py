"""`npu-smi info`, pci.txt and assumed.yaml: read by their own headings, refused by the line."""

from __future__ import annotations

import pytest

from tests.topology.wirings import SERVERS
from topology.assumptions import read_assumptions
from topology.errors import TopologyError
from topology.info import normal_bus_id, read_info
from topology.pci import read_pci

RULE = "+---------------------------+---------------+------------------------+"
A3 = f"""{RULE}
| npu-smi 24.1.rc3.3               Version: 24.1.rc3.3                |
{RULE}
| NPU   Name                | Health        | Power(W)    Temp(C)    Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB) |
+===========================+===============+========================+
| 5     Ascend910           | OK            | 183.8       37                0    / 0      |
| 0     10                  | 0000:89:00.0  | 0           0    / 0          52567/ 65536  |
{RULE}
| 5     Ascend910           | OK            | -           36                0    / 0      |
| 1     11                  | 0000:8B:00.0  | 0           0    / 0          52345/ 65536  |
+===========================+===============+========================+
| NPU     Chip              | Process id    | Process name           |
| 5       0                 | 957790        | pt_main_thread         | 49207                   |
| 5       1                 | 957852        | pt_main_thread         | 49207                   |
"""
DUO = """
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
| 1536    310P3                 | OK              | NA           51                0     / 0             |
| 0       0                     | 0000:06:00.0    | 0            1596 / 44280                            |
| 1536    310P3                 | OK              | NA           50                0     / 0             |
| 1       1                     | 0000:06:00.0    | 0            1325 / 43693                            |
"""


def test_dies_have_their_physical_ids_and_processes_are_no_chips() -> None:
    chips = read_info(A3)
    assert [(c.npu, c.chip, c.phy_id, c.bus_id, c.memory_mib) for c in chips] == [
        (5, 0, 10, "0000:89:00.0", 65536),
        (5, 1, 11, "0000:8b:00.0", 65536),
    ], "addresses are lower case as the kernel's are, memory is the HBM's"


def test_a_duo_card_shows_two_chips_on_one_address_and_no_physical_id() -> None:
    chips = read_info(DUO)
    assert [(c.npu, c.chip, c.phy_id, c.bus_id, c.memory_mib) for c in chips] == [
        (1536, 0, None, "0000:06:00.0", 44280),
        (1536, 1, None, "0000:06:00.0", 43693),
    ]


def test_a_shipped_info_reads_whole() -> None:
    assert len(read_info((SERVERS / "910b3/info.txt").read_text())) == 8


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "no `npu-smi info` table"),
        (A3.split("| 5 ", maxsplit=1)[0], "names no chip"),
        (A3[: A3.index("| 1     11")], "two lines of a chip"),
    ],
)
def test_a_cut_table_is_refused(words: str, says: str) -> None:
    with pytest.raises(TopologyError, match=says):
        read_info(words)


@pytest.mark.parametrize(("text", "reads"), [("0000:C1:00.0", "0000:c1:00.0"), ("0000:81:00:0", None), ("NA", None)])
def test_a_pci_address_is_domain_bus_device_dot_function(text: str, reads: str | None) -> None:
    assert normal_bus_id(text) == reads


def test_pci_lines_give_root_and_node_and_minus_one_is_unknown() -> None:
    places = read_pci("# comment\n\n0000:C1:00.0 pci0000:c0 6\n0000:c2:00.0 pci0000:c0 -1\n")
    assert (places["0000:c1:00.0"].root, places["0000:c1:00.0"].numa_node) == ("pci0000:c0", 6)
    assert places["0000:c2:00.0"].numa_node is None


@pytest.mark.parametrize(
    "line", ["0000:c1:00.0", "0000:c1:00:0 pci0000:c0 6", "0000:c1:00.0 0000:c0 6", "0000:c1:00.0 pci0000:c0 six"]
)
def test_a_pci_line_of_another_form_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(TopologyError, match="line 2"):
        read_pci(f"# where\n{line}\n")


def test_a_device_stands_once_in_pci_txt() -> None:
    with pytest.raises(TopologyError, match="second time"):
        read_pci("0000:c1:00.0 pci0000:c0 6\n0000:C1:00.0 pci0000:c0 6\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("speed: {value: 1, why: x}", "'speed' cannot be assumed"),
        ("pcie-root: pix-group", "not a value and a why"),
        ("pcie-root: {value: mine, why: x}", "'mine' is not known"),
        ("- a", "not a mapping"),
        ("a: [", "no YAML"),
    ],
)
def test_assumptions_are_a_closed_set(text: str, says: str) -> None:
    with pytest.raises(TopologyError, match=says):
        read_assumptions(text)


@pytest.mark.parametrize("before", ["\ufeff", "\x1b]0;root@node\x07\x1b[?2004l", "\x1b[1m"])
def test_companions_are_read_through_what_terminals_and_editors_add(before: str) -> None:
    assert read_info(before + A3.replace("Ascend910", "\x1b[32mAscend910\x1b[0m").replace("\n", "\r\n")) == read_info(
        A3
    )
    place = "0000:c1:00.0 pci0000:c0 6\r\n"
    assert read_pci(before + place) == read_pci(place)
