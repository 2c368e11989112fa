"""Each shipped server reads as its machine is."""

from __future__ import annotations

import pytest

from tests.topology.wirings import SERVERS, shipped
from topology.groups import groups, members
from topology.report import report

ALL = sorted(folder.name for folder in SERVERS.iterdir())
EIGHT = [list(range(8))]
BY_TWO = [[0, 1], [2, 3], [4, 5], [6, 7]]
BY_FOUR = [[0, 1, 2, 3], [4, 5, 6, 7]]
ACROSS = [[0, 4], [1, 5], [2, 6], [3, 7]]
HALVES = [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]

READING: dict[str, dict[str, list[list[int]]]] = {
    "310p3": {"phb": ACROSS, "numa": ACROSS},
    "800i-a2": {"ring": EIGHT, "numa": BY_TWO},
    "910b3": {"ring": EIGHT, "numa": BY_TWO},
    "box16": {
        "ring": [list(range(8)), list(range(8, 16))],
        "pix": [[i, i + 8] for i in range(8)],
        "phb": HALVES,
        "numa": HALVES,
    },
    "800t-a3": {"sio": BY_TWO},
    "350-1p": {"numa": BY_FOUR},
    "350-2p": {"ring": BY_TWO, "numa": BY_FOUR},
    "350-4p": {"ring": BY_FOUR, "numa": BY_FOUR},
}


def test_every_shipped_server_has_a_reading_here() -> None:
    assert sorted(READING) == ALL


@pytest.mark.parametrize("name", ALL)
def test_the_groups_are_those_of_the_machine(name: str) -> None:
    made = groups(shipped(name))
    for kind in ("ring", "sio", "pix", "phb", "numa"):
        found = [sorted(group) for group in members(getattr(made, kind))]
        assert found == READING[name].get(kind, []), f"{kind} of {name}"


@pytest.mark.parametrize("name", ALL)
def test_a_shipped_server_is_sound(name: str) -> None:
    server = shipped(name)
    assert not server.faults
    # A 1P card has no links, and so has an isolated one: the reader is told.
    assert len(server.warnings) == (1 if name == "350-1p" else 0), server.warnings


def test_groups_are_numbered_by_their_smallest_member_and_loners_are_in_none() -> None:
    npus = report(shipped("310p3"))["npus"]
    assert [npu["phb"] for npu in npus] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert {npu["ring"] for npu in npus} == {None}
    assert [npu["numa"] for npu in npus] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a3_says_nothing_of_numa() -> None:
    npus = report(shipped("800t-a3"))["npus"]
    assert {(npu["numa"], npu["affinity"], npu["numaNode"]) for npu in npus} == {(None, None, None)}


def test_the_companion_capture_gives_names_addresses_and_memory() -> None:
    npu = shipped("910b3").npu(2)
    assert (npu.chip, npu.bus_id, npu.memory_mib) == ("910B3", "0000:81:00.0", 65536)
    assert npu.pcie_root is None, "npu-smi does not say what root complex an NPU hangs below"


def test_an_assumption_is_marked_as_one() -> None:
    box = shipped("box16")
    assert box.assumptions == {"chip": "910B4", "pcie-root": "pix-group", "numa-node": "affinity-group"}
    assert box.npu(0).pcie_root == box.npu(8).pcie_root == "assumed-pix-group-0"
    assert not shipped("350-1p").assumptions.keys() & {"pcie-root", "ub-ring"}
