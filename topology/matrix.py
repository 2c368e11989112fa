"""Reading the matrix that `npu-smi info -t topo` prints.

The layout differs by chip and build: labels `NPU<id>` or `Phy-ID<id>`, ids with holes, cells padded with blanks or tabs
or one blank, a header that starts at column 0 or does not, NIC columns and rows, an affinity column or none. So a line
is read by what its words are, never by where they stand. The tool exits 0 when it refuses, so the text alone decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from topology.errors import TopologyError
from topology.model import Relation
from topology.terminal import printed

_NPU = re.compile(r"(NPU|Phy-ID)(\d+)")
_NIC = re.compile(r"NIC\d+")
_FOREIGN = re.compile(r"(?:[A-Za-z][A-Za-z_-]*\d+|mlx5_\d+)")
_CPU_LIST = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
# One build of the tool prints the same links under other names (facts: npu_info_print_ch.c of the driver).
_ALIASES = {"XLink": Relation.HCCS, "XLink_SW": Relation.HCCS_SW}

CAPTURE = "Run `npu-smi info -t topo` on the host itself and keep all that it prints."
_FOREIGN_TOOL = "Give it what `npu-smi info -t topo` prints on an Ascend server."


@dataclass(frozen=True)
class Matrix:
    """What the table said: ids in the order of their columns, cells[i][j], and the CPU list of each row or None.

    legend: the relations that the legend explains, which tells chips apart; empty where there is none.
    """

    label: str
    ids: tuple[int, ...]
    cells: tuple[tuple[Relation, ...], ...]
    affinity: tuple[str | None, ...]
    legend: frozenset[str]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Header:
    line: int
    columns: tuple[str, ...]
    affinity: bool

    @property
    def npus(self) -> tuple[str, ...]:
        return tuple(column for column in self.columns if _NPU.fullmatch(column))


@dataclass(frozen=True)
class _Row:
    line: int
    cells: tuple[Relation, ...]
    affinity: str | None


def read_matrix(text: str) -> Matrix:
    """The matrix in the text. TopologyError where there is none, or one that is cut, damaged or another vendor's."""
    lines = [line.split() for line in printed(text).splitlines()]
    header = _find_header(lines)
    rows: dict[str, _Row] = {}
    warnings: list[str] = []
    strays: list[int] = []
    for number, words in enumerate(lines[header.line :], start=header.line + 1):
        if not words:
            continue
        if words[0].rstrip(":").lower() == "legend":
            break
        if _NPU.fullmatch(words[0]):
            if words[0] in rows:
                raise TopologyError(
                    f"{words[0]} has a second row; the first is on line {rows[words[0]].line}.",
                    line=number,
                    remedy="Keep one capture in the file.",
                )
            if words[0] not in header.npus:
                raise TopologyError(
                    f"{words[0]} has a row but no column in the header on line {header.line}.",
                    line=number,
                    remedy=f"The header looks cut. {CAPTURE}",
                )
            if strays:
                warnings.append(f"line {strays[0]} stands inside the table and is no row; it was left out.")
                strays.clear()
            rows[words[0]] = _read_row(words, number, header)
        elif not _NIC.match(words[0]):
            strays.append(number)
    missing = [column for column in header.npus if column not in rows]
    if missing:
        raise TopologyError(
            f"the header names {_listing(missing)}, but not every one has a row.",
            line=header.line,
            remedy=f"The capture looks cut, or comes from a container. {CAPTURE}",
        )
    ordered = [rows[column] for column in header.npus]
    _check_diagonal(header.npus, ordered)
    affinity, doubt = _affinities(header, ordered)
    kinds = {match.group(1) for column in header.npus if (match := _NPU.fullmatch(column))}
    return Matrix(
        label=kinds.pop(),
        ids=tuple(int(match.group(2)) for column in header.npus if (match := _NPU.fullmatch(column))),
        cells=tuple(row.cells for row in ordered),
        affinity=affinity,
        legend=_legend(lines),
        warnings=(*warnings, *doubt),
    )


def _find_header(lines: Sequence[Sequence[str]]) -> _Header:
    found: list[_Header] = []
    for number, words in enumerate(lines, start=1):
        columns = list(words)
        affinity = [word.lower() for word in columns[-2:]] == ["cpu", "affinity"]
        if affinity:
            del columns[-2:]
        if not columns or not all(_NPU.fullmatch(word) or _NIC.fullmatch(word) for word in columns):
            if len(columns) > 1 and _NPU.fullmatch(columns[0]) and _NPU.fullmatch(columns[1]):
                stranger = next(word for word in columns if not (_NPU.fullmatch(word) or _NIC.fullmatch(word)))
                raise TopologyError(
                    f"the header has a column {stranger!r} that no known npu-smi prints.",
                    line=number,
                    remedy="If this is a new npu-smi, report it with the capture; it is not guessed at.",
                )
            continue
        npus = [word for word in columns if _NPU.fullmatch(word)]
        # A lone label is a header only if it says so: noise may end in "NPU0".
        if npus and (len(columns) > 1 or affinity or _is_lone_header(lines, number, npus[0])):
            found.append(_Header(number, tuple(columns), affinity))
    if not found:
        raise _no_table(lines)
    header = found[0]
    if len(found) > 1 and not any(lines[header.line : found[1].line - 1]):
        raise TopologyError(
            f"the header of line {header.line} goes on here: the lines were broken where a terminal was too narrow.",
            line=found[1].line,
            remedy="Keep the output with > topo.txt, not by copying it from a terminal.",
        )
    if len(found) > 1:
        raise TopologyError(
            f"a second matrix starts here; the first starts on line {header.line}.",
            line=found[1].line,
            remedy="Keep one capture in a file.",
        )
    if len(set(header.columns)) != len(header.columns):
        raise TopologyError("a column stands twice in the header.", line=header.line, remedy=CAPTURE)
    if len({column.rstrip("0123456789") for column in header.npus}) > 1:
        raise TopologyError("the header mixes NPU and Phy-ID labels.", line=header.line, remedy=CAPTURE)
    return header


def _is_lone_header(lines: Sequence[Sequence[str]], number: int, label: str) -> bool:
    following = next((words for words in lines[number:] if words), [])
    return list(following[:2]) == [label, "X"]


def _read_row(words: Sequence[str], number: int, header: _Header) -> _Row:
    label, *rest = words
    wanted = len(header.columns)
    if len(rest) < wanted:
        raise TopologyError(
            f"the row of {label} has {len(rest)} of {wanted} cells.",
            line=number,
            remedy=f"The row looks cut. {CAPTURE}",
        )
    cells = tuple(
        _read_cell(word, label, column, number)
        for word, column in zip(rest[:wanted], header.columns, strict=True)
        if _NPU.fullmatch(column)
    )
    tail = "".join(rest[wanted:])
    if tail and not header.affinity:
        raise TopologyError(
            f"the row of {label} has {len(rest)} cells, the header {wanted} columns.",
            line=number,
            remedy=f"The header looks cut. {CAPTURE}",
        )
    if tail and not _is_cpu_list(tail):
        if tail in {"NA", "N/A", "-"}:
            tail = ""
        else:
            raise TopologyError(
                f"{tail!r} after the row of {label} is no CPU list.",
                line=number,
                remedy=f"It should read like 0-23 or 0-51,104-155. {CAPTURE}",
            )
    return _Row(number, cells, tail or None)


def _read_cell(word: str, label: str, column: str, number: int) -> Relation:
    if word in _ALIASES:
        return _ALIASES[word]
    try:
        return Relation(word)
    except ValueError:
        pass
    if _CPU_LIST.fullmatch(word):
        raise TopologyError(
            f"the row of {label} has a CPU list where the relation to {column} should stand.",
            line=number,
            remedy=f"The row looks cut. {CAPTURE}",
        )
    hint = " (NODE is what ascend-dmi prints.)" if word == "NODE" else ""
    raise TopologyError(
        f"{label} to {column} reads {word!r}, which is no relation that npu-smi knows.{hint}",
        line=number,
        remedy=f"Known are {', '.join(Relation)}, XLink and XLink_SW. {_FOREIGN_TOOL}",
    )


def _check_diagonal(columns: Sequence[str], rows: Sequence[_Row]) -> None:
    for i, row in enumerate(rows):
        for j, cell in enumerate(row.cells):
            if (cell is Relation.SELF) != (i == j):
                what = "is not X to itself" if i == j else f"is X, itself, to {columns[j]}"
                raise TopologyError(
                    f"{columns[i]} {what}.",
                    line=row.line,
                    remedy=f"A cell was lost or moved. {CAPTURE}",
                )


def _affinities(header: _Header, rows: Sequence[_Row]) -> tuple[tuple[str | None, ...], list[str]]:
    lists = tuple(row.affinity for row in rows)
    if not header.affinity:
        return lists, []
    empty = [row for row in rows if row.affinity is None]
    if len(empty) == len(rows):
        return lists, ["the CPU Affinity column is empty; NUMA nodes are unknown."]
    if empty:
        raise TopologyError(
            "this row ends before its CPU affinity, others do not.",
            line=empty[0].line,
            remedy=f"The row looks cut. {CAPTURE}",
        )
    cpus = {text: cpu_set(text) for text in lists if text is not None}
    for row in rows:
        assert row.affinity is not None
        for other, members in cpus.items():
            if other != row.affinity and not members.isdisjoint(cpus[row.affinity]):
                raise TopologyError(
                    f"CPU affinity {row.affinity} overlaps {other}, yet they differ; a CPU has one NUMA node.",
                    line=row.line,
                    remedy=f"A list looks cut. {CAPTURE}",
                )
    return lists, []


def _is_cpu_list(text: str) -> bool:
    if not _CPU_LIST.fullmatch(text):
        return False
    ranges = [part.split("-") for part in text.split(",")]
    return all(int(ends[0]) <= int(ends[-1]) for ends in ranges)


def cpu_set(text: str) -> frozenset[int]:
    """The CPUs of a kernel CPU list such as "0-51,104-155"."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def _legend(lines: Sequence[Sequence[str]]) -> frozenset[str]:
    names = {*Relation, *_ALIASES}
    return frozenset(words[0] for words in lines if len(words) > 2 and words[1] == "=" and words[0] in names)


def _no_table(lines: Sequence[Sequence[str]]) -> TopologyError:
    for number, words in enumerate(lines, start=1):
        foreign = [word for word in words if _FOREIGN.fullmatch(word)]
        plain = [word for word in words if word.lower() not in {"cpu", "numa", "affinity", "gpu", "id"}]
        if len(foreign) > 1 and len(foreign) == len(plain):
            return TopologyError(
                f"this is a matrix of {foreign[0]}, {foreign[1]}, …: another vendor's tool printed it.",
                line=number,
                remedy=_FOREIGN_TOOL,
            )
    said = next(((number, " ".join(words)) for number, words in enumerate(lines, start=1) if words), None)
    if said is None:
        return TopologyError("the text is empty.", remedy=CAPTURE)
    number, sentence = said
    spoken = " ".join(word for words in lines for word in words).lower()
    if "virtual machine" in spoken or " vm" in f" {spoken}":
        return TopologyError(
            f"npu-smi refused: {sentence!r}",
            line=number,
            remedy="Inside a virtual machine the wiring cannot be seen. Run it on the host.",
        )
    if "not support" in spoken:
        return TopologyError(
            f"npu-smi refused: {sentence!r}",
            line=number,
            remedy="This chip or host (310P and 910A on x86 among them) does not tell its wiring.",
        )
    if _NPU.fullmatch(sentence.split()[0]):
        return TopologyError(
            "there are rows, but no header that names the columns.",
            line=number,
            remedy=f"The header is missing. {CAPTURE}",
        )
    return TopologyError(f"there is no matrix here; the text starts {sentence[:80]!r}.", line=number, remedy=CAPTURE)


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
