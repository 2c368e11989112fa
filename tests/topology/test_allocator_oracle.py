"""The replica against the scheduler's own allocator: same devices, same kind of failure, same number of calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.topology import oracle
from tests.topology.random_claims import Case

CASES = {"1.34": 2_000, "1.35": 2_000, "1.36": 2_500, "1.37": 4_500}
"""Random cases a run; `python -m tests.topology.oracle --cases 500000` is the long one."""

KEPT = sorted(oracle.KEPT.glob("*.json"))

CHANCE = {"chance": True}
"""The kept answer where the real scheduler was seen to do now this and now that."""


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    return oracle.programs()


@pytest.mark.real
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", CASES)
def test_random_claims_come_out_as_in_the_original(programs: dict[str, Path], version: str) -> None:
    result = oracle.compare(programs[version], oracle.random_cases(version, 0, CASES[version]))
    told = [f"seed {name}: {difference}" for name, difference, *_ in result.mismatches]
    assert not told, f"the replica is not the scheduler's search: {told[:5]}"
    assert result.compared > 0.8 * CASES[version], f"too much is refused or too long to prove anything: {result.kinds}"
    for kind in ("allocations", "unsatisfiable", "error"):
        assert result.kinds[kind] > 0.05 * CASES[version], f"hardly any case ends in {kind}: {result.kinds}"


@pytest.mark.real
@pytest.mark.timeout(1800)
def test_a_replica_that_errs_is_found_out(programs: dict[str, Path]) -> None:
    # The comparison itself can fail: 1.36 asked about cases of 1.37 must not agree on all of them.
    cases = [(name, Case(**{**vars(case), "version": "1.36"})) for name, case in oracle.random_cases("1.37", 0, 1500)]
    assert oracle.compare(programs["1.37"], cases).mismatches


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_once_came_out_otherwise_comes_out_right(path: Path) -> None:
    kept = json.loads(path.read_text())
    ours = oracle.replica(Case(**kept["case"]))
    assert ours is not None, "a kept case must be one that can be compared"
    if kept["answer"] == CHANCE:
        assert "unmodelled" in ours, "what the scheduler does by chance must be refused"
        return
    assert "unmodelled" not in ours, "a case once compared must not be refused now"
    assert oracle.differs(ours, kept["answer"]) == ""


@pytest.mark.real
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_is_kept_is_what_the_original_says(programs: dict[str, Path], path: Path) -> None:
    kept = json.loads(path.read_text())
    if kept["answer"] == CHANCE:
        return
    case = Case(**kept["case"])
    assert oracle.answers(programs[case.version], [oracle.line(case)]) == [kept["answer"]]
