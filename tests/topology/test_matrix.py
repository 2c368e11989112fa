"""A matrix is read the same in every layout that a build of npu-smi prints, and refused when it cannot be trusted."""

from __future__ import annotations

import pytest

from tests.topology.wirings import box16, mesh, modules, text
from topology.errors import TopologyError
from topology.matrix import read_matrix
from topology.model import Relation

GOOD = text(box16, ids=range(16), affinity=lambda id: "0-51,104-155" if id % 8 < 4 else "52-103,156-207")


def refusal(words: str) -> TopologyError:
    with pytest.raises(TopologyError) as caught:
        read_matrix(words)
    return caught.value


@pytest.mark.parametrize(
    ("gap", "lead"),
    [("       ", "\t   "), (" ", ""), ("\t", "\t"), (" ", "\u2002\u2002 "), ("  ", ""), ("       ", "           ")],
    ids=["padded", "single blanks, header at column 0", "tabs", "wide blanks", "column 0", "blank lead"],
)
def test_the_layout_does_not_change_the_reading(gap: str, lead: str) -> None:
    affinity = lambda id: "0-51,104-155" if id % 8 < 4 else "52-103,156-207"
    assert read_matrix(text(box16, ids=range(16), affinity=affinity, gap=gap, lead=lead)) == read_matrix(GOOD)


def test_trailing_blanks_carriage_returns_and_a_byte_order_mark_do_not_matter() -> None:
    assert read_matrix("\ufeff" + GOOD.replace("\n", "     \r\n")) == read_matrix(GOOD)


def test_ids_are_the_tools_own_holes_and_all() -> None:
    ids = (1, 3, 5, 7, 8, 1536)
    assert read_matrix(text(mesh, ids=ids)).ids == ids


def test_phy_id_labels_are_read_as_labels() -> None:
    matrix = read_matrix(text(modules, label="Phy-ID", affinity=None))
    assert (matrix.label, matrix.ids[:2], matrix.cells[0][1]) == ("Phy-ID", (0, 1), Relation.SIO)
    assert set(matrix.affinity) == {None}, "a column that is not printed is unknown"


def test_the_second_build_names_links_otherwise() -> None:
    renamed = GOOD.replace("HCCS", "XLink")
    assert read_matrix(renamed).cells == read_matrix(GOOD).cells
    assert read_matrix(text(modules).replace("HCCS_SW", "XLink_SW")).cells == read_matrix(text(modules)).cells


def test_one_npu_is_a_matrix_with_and_without_affinity() -> None:
    assert read_matrix("NPU4 CPU Affinity\nNPU4 X 0-23\n").ids == (4,)
    assert read_matrix("       NPU4\nNPU4       X\n").affinity == (None,)


def test_nics_are_no_npus() -> None:
    lines = [
        "       NPU0  NPU1  NIC0  NIC1  CPU Affinity",
        "NPU0   X     HCCS  UB    NA    0-23",
        "NPU1   HCCS  X     UB    NA    0-23",
        "NIC0   UB    UB    X     NA",
        "NIC1   NA    NA    NA    X",
        "",
        "NIC0: ens0f0",
        "NIC1: ens0f1",
    ]
    matrix = read_matrix("\n".join(lines))
    assert matrix.ids == (0, 1)
    assert matrix.cells == ((Relation.SELF, Relation.HCCS), (Relation.HCCS, Relation.SELF))
    assert matrix.affinity == ("0-23", "0-23")


@pytest.mark.parametrize(
    "legend",
    [
        "\nLegend:\n\n  X    = Self\n  PXB  = Path traversing multipul PCIe switches\n  HCCS = HCCS.",
        "Legend:\n  X = Self\n  UB = Connection traversing UB.\n",
        "Legend:\n  X  ",
        "",
    ],
    ids=["old", "new", "cut", "none"],
)
def test_a_legend_changes_nothing(legend: str) -> None:
    assert read_matrix(text(mesh, legend=legend)).cells == read_matrix(text(mesh)).cells


def test_noise_before_the_table_is_passed_over() -> None:
    noise = "# npu-smi info -t topo\n[WARN] dcmi: NPU3 took 3 s to answer\nNPU0\n\n"
    assert read_matrix(noise + GOOD) == read_matrix(GOOD)


def test_noise_inside_the_table_is_told() -> None:
    lines = GOOD.splitlines()
    lines.insert(5, "[WARN] something was logged here")
    matrix = read_matrix("\n".join(lines))
    assert matrix.cells == read_matrix(GOOD).cells
    assert "line 6" in matrix.warnings[0]


def test_colour_codes_are_no_part_of_a_word() -> None:
    assert read_matrix(GOOD.replace("HCCS", "\x1b[32mHCCS\x1b[0m")).cells == read_matrix(GOOD).cells


@pytest.mark.parametrize(
    "code", ["\x1b[?2004h", "\x1b]0;root@node\x07", "\x1b(B", "\x1b[1;32m", "\x1b]2;a\x1b\\", "\x1b="]
)
@pytest.mark.parametrize("place", ["NPU0", "HCCS", "CPU"])
def test_what_a_recorded_terminal_adds_is_no_part_of_a_word(code: str, place: str) -> None:
    """As `script` keeps it: a title before the header, the marks of bracketed paste, another charset."""
    assert read_matrix(GOOD.replace(place, f"{code}{place}")).cells == read_matrix(GOOD).cells


def test_a_line_that_a_terminal_broke_is_told_as_such() -> None:
    broken = "\n".join(part for line in GOOD.splitlines() for part in (line[:80], line[80:]))
    error = refusal(broken)
    assert (error.line, "terminal" in str(error)) == (2, True)


def test_an_empty_affinity_column_is_unknown_and_told() -> None:
    matrix = read_matrix(text(mesh, affinity=lambda id: ""))
    assert set(matrix.affinity) == {None}
    assert "unknown" in matrix.warnings[0]


@pytest.mark.parametrize(
    ("words", "says", "line"),
    [
        ("", "empty", None),
        ("\n\n", "empty", None),
        ("This device does not support querying topo.", "refused", 1),
        ("This command cannot be executed on a VM.", "virtual machine", 1),
        ("bash: npu-smi: command not found", "no matrix", 1),
        ("\n".join(GOOD.splitlines()[:9]), "NPU8, NPU9, NPU10, NPU11 and 4 more", 1),
        ("\n".join(GOOD.splitlines()[1:]), "no header", 1),
        (GOOD[: GOOD.rindex("HCCS")].rstrip(), "of 16 cells", 17),
        (GOOD + GOOD, "second matrix", 19),
        (GOOD.replace("PIX", "NV4"), "'NV4'", 2),
        (GOOD.replace("PIX", "NODE"), "ascend-dmi", 2),
        (GOOD.replace(" NPU15", "", 1), "more", None),
        (text(mesh, affinity=lambda id: "0-23" if id < 7 else "0-2"), "overlaps", 2),
        (text(mesh, affinity=lambda id: "0-23" if id < 7 else ""), "before its CPU affinity", 9),
        (text(mesh, affinity=lambda id: "node0"), "no CPU list", 2),
        (text(mesh).replace("X       HCCS", "HCCS       X", 1), "not X to itself", 2),
        (text(mesh).replace("NPU1 ", "NPU0 ", 1).replace("NPU0   ", "NPU0   ", 1), "stands twice", 1),
        (text(mesh).replace("\nNPU7", "\nNPU6"), "second row", 9),
        (text(mesh).replace("\nNPU7", "\nNPU9"), "no column", 9),
        (text(mesh).replace("NPU7", "Phy-ID7"), "mixes", 1),
        (
            "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\t0-23\t0\nGPU1\tNV4\t X \t0-23\t0",
            "another vendor",
            1,
        ),
        ("      MLU0 MLU1\nMLU0  X SYS\nMLU1 SYS X\n", "another vendor", 1),
    ],
)
def test_what_cannot_be_trusted_is_refused_by_line(words: str, says: str, line: int | None) -> None:
    error = refusal(words)
    if says != "more":
        assert says in str(error)
    if line is not None:
        assert error.line == line, "the error names the line it was found on"
    assert error.remedy, "an error says what to do"


def test_no_prefix_of_a_capture_reads_as_a_whole_one() -> None:
    """A file cut anywhere is refused, up to the point where only part of the last CPU list is missing."""
    end = GOOD.rstrip().rindex("52-103,156-207")
    whole = read_matrix(GOOD)
    for cut in range(0, end, 7):
        with pytest.raises(TopologyError):
            read_matrix(GOOD[:cut])
    for cut in range(end + 1, len(GOOD.rstrip())):
        try:
            assert read_matrix(GOOD[:cut]).affinity == whole.affinity, f"cut at {cut} changed the reading"
        except TopologyError:
            continue
