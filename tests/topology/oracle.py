"""The replica beside the scheduler's own allocator. As a script: `python -m tests.topology.oracle --cases 500000`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from sandbox import pins, toolchain
from sandbox.report import ConsoleReport
from tests.topology.random_claims import Case, make
from topology.allocator import VERSIONS, Allocated, Fatal, TooLong, Unmodelled, Unsatisfiable, allocate, read_world

LIMIT = 4_000
"""Calls of the inner function after which a case is not compared: it would say nothing that a smaller one does not."""

KEPT = Path(__file__).parent / "allocator_cases"

_OLD = {"AdminAccess": True, "PrioritizedList": True}
_BETA = _OLD | dict.fromkeys(
    ("ConsumableCapacity", "DeviceBindingAndStatus", "DeviceTaints", "PartitionableDevices"), True
)
FEATURES = {"1.34": _OLD, "1.35": _OLD, "1.36": _BETA, "1.37": _BETA | {"FractionalCapacityRange": True}}
"""What the scheduler hands to its allocator with default feature gates (dynamicresources.go, AllocatorFeatures)."""

Answer = dict[str, Any]


def programs() -> dict[str, Path]:
    """Kubernetes version → oracle, built if need be."""
    found = toolchain.ensure(ConsoleReport(), programs=pins.ORACLES)
    return {f"1.{name.removeprefix('allocator-oracle-0.')}": path for name, path in found.items()}


def replica(case: Case) -> Answer | None:
    """In the oracle's form; None where the search is too long to compare."""
    try:
        world = read_world([*case.slices, *case.classes, *case.taken, *case.claims, case.node])
        pending = [claim for claim in world.claims if claim.taken is None]
        outcome = allocate(world, world.nodes[0], pending, VERSIONS[case.version], LIMIT)
    except Unmodelled as error:
        return {"unmodelled": error.feature}
    except TooLong:
        return None
    match outcome:
        case Allocated(devices, calls):
            return {"allocations": [[vars(one) for one in claim] for claim in devices], "calls": calls}
        case Unsatisfiable(why, calls):
            return {"unsatisfiable": why, "calls": calls}
        case Fatal(why, calls):
            return {"error": why, "calls": calls}


def line(case: Case) -> str:
    """The case as the oracle reads it."""
    data = {key: value for key, value in case.data().items() if key != "version"}
    return json.dumps({"features": FEATURES[case.version], **data}, separators=(",", ":"))


def answers(program: Path, lines: Sequence[str]) -> list[Answer]:
    """One process for all of them."""
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the oracle failed: {done.stderr[-2000:]}")
    return [json.loads(one) for one in done.stdout.splitlines()]


def differs(ours: Answer, theirs: Answer) -> str:
    """In what, or empty. Words of errors may differ, their kind may not."""
    if "unmodelled" in ours:
        return ""
    kinds = {"nodeError": "unsatisfiable"}
    mine = next(key for key in ("allocations", "unsatisfiable", "error") if key in ours)
    other = next(key for key in ("allocations", "unsatisfiable", "nodeError", "error") if key in theirs)
    if mine != kinds.get(other, other):
        return f"{mine} here, {other} there"
    if mine == "allocations" and ours["allocations"] != theirs["allocations"]:
        return "other devices"
    return "" if ours["calls"] == theirs["calls"] else f"{ours['calls']} calls here, {theirs['calls']} there"


@dataclass
class Result:
    """kinds: how often which kind of answer. mismatches: seed (or name), in what, case, both answers."""

    kinds: Counter[str] = field(default_factory=Counter)
    mismatches: list[tuple[str, str, Case, Answer, Answer]] = field(default_factory=list)

    @property
    def compared(self) -> int:
        return sum(count for kind, count in self.kinds.items() if kind not in ("unmodelled", "too long"))


def compare(program: Path, cases: Iterable[tuple[str, Case]]) -> Result:
    """Run both on all cases. The oracle works on one batch while the replica does the next."""
    result = Result()
    with ThreadPoolExecutor(1) as pool:
        waiting = None
        for batch in _batches(cases):
            mine = [(name, case, answer) for name, case in batch if (answer := _counted(result, case)) is not None]
            if waiting is not None:
                _judge(result, *waiting)
            waiting = mine, pool.submit(answers, program, [line(case) for _, case, _ in mine])
        if waiting is not None:
            _judge(result, *waiting)
    return result


def _counted(result: Result, case: Case) -> Answer | None:
    answer = replica(case)
    kind = "too long" if answer is None else next(iter(answer))
    result.kinds[kind] += 1
    return None if answer is None or kind == "unmodelled" else answer


def _judge(result: Result, mine: list[tuple[str, Case, Answer]], theirs: Any) -> None:
    for (name, case, ours), other in zip(mine, theirs.result(), strict=True):
        difference = differs(ours, other)
        if difference:
            result.mismatches.append((name, difference, case, ours, other))


def _batches(cases: Iterable[tuple[str, Case]]) -> Iterator[list[tuple[str, Case]]]:
    iterator = iter(cases)
    while batch := list(islice(iterator, 2000)):
        yield batch


def random_cases(version: str, first: int, count: int) -> Iterator[tuple[str, Case]]:
    for seed in range(first, first + count):
        yield str(seed), make(seed, version)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the replica with the scheduler's allocator on random cases.")
    parser.add_argument("--cases", type=int, default=10_000, help="How many, for each version.")
    parser.add_argument("--first", type=int, default=0, help="The first seed.")
    parser.add_argument("--version", action="append", choices=list(VERSIONS), help="Default: all.")
    parser.add_argument("--program", type=Path, help="An oracle that is built already (with one --version).")
    parser.add_argument("--keep", action="store_true", help="Keep mismatches as cases.")
    arguments = parser.parse_args()
    bad = 0
    for version in arguments.version or list(VERSIONS):
        program = arguments.program or programs()[version]
        start = time.monotonic()
        result = compare(program, random_cases(version, arguments.first, arguments.cases))
        seconds = time.monotonic() - start
        kinds = ", ".join(f"{count} {kind}" for kind, count in result.kinds.most_common())
        print(f"{version}: {result.compared} compared in {seconds:.0f} s, {len(result.mismatches)} differ ({kinds})")
        for name, difference, case, ours, theirs in result.mismatches[:5]:
            print(f"  seed {name}: {difference}\n    here  {ours}\n    there {theirs}")
            if arguments.keep:
                KEPT.mkdir(exist_ok=True)
                kept = {"case": case.data(), "answer": theirs}
                (KEPT / f"{version}-{name}.json").write_text(json.dumps(kept) + "\n")
        bad += len(result.mismatches)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
