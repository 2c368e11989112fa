"""Reading the scheduler's own histograms: sums and counts before and after tell what was spent in between."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sandbox import parts, ports, probes
from sandbox.errors import SandboxError
from sandbox.layout import Layout

ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
"""By result: scheduled (binding included), unschedulable, error."""

ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
EXTENSION_POINT = "scheduler_framework_extension_point_duration_seconds"
"""Filter is observed once for a pod, over all nodes it was tried on."""

CPU = "process_cpu_seconds_total"
"""Of the whole scheduler. Others on the machine make times longer, but hardly this."""

_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Total:
    """count: observations. seconds: their sum."""

    count: int = 0
    seconds: float = 0.0

    def __add__(self, other: Total) -> Total:
        return Total(self.count + other.count, self.seconds + other.seconds)

    def __sub__(self, earlier: Total) -> Total:
        return Total(self.count - earlier.count, self.seconds - earlier.seconds)

    @property
    def mean(self) -> float:
        """Seconds an observation; 0 where there was none."""
        return self.seconds / self.count if self.count else 0.0


@dataclass(frozen=True)
class Reading:
    """attempts: result → total. algorithm, filter: over all results. cpu: seconds of the scheduler's process."""

    attempts: Mapping[str, Total] = field(default_factory=dict)
    algorithm: Total = field(default_factory=Total)
    filter: Total = field(default_factory=Total)
    cpu: float = 0.0

    def since(self, earlier: Reading) -> Reading:
        return Reading(
            {result: total - earlier.attempts.get(result, Total()) for result, total in self.attempts.items()},
            self.algorithm - earlier.algorithm,
            self.filter - earlier.filter,
            self.cpu - earlier.cpu,
        )

    def ended(self, result: str) -> int:
        """How many attempts ended so."""
        return self.attempts.get(result, Total()).count

    @property
    def all_attempts(self) -> Total:
        return sum(self.attempts.values(), Total())


def histograms(text: str, names: Iterable[str]) -> dict[str, dict[tuple[tuple[str, str], ...], Total]]:
    """Name → labels (sorted pairs) → total, from the text format of Prometheus; other metrics are skipped."""
    found: dict[str, dict[tuple[tuple[str, str], ...], Total]] = {name: {} for name in names}
    wanted = {f"{name}_{end}": (name, end) for name in found for end in ("sum", "count")}
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample is None or sample["name"] not in wanted:
            continue
        name, end = wanted[sample["name"]]
        labels = tuple(sorted(_LABEL.findall(sample["labels"] or "")))
        value = float(sample["value"])
        total = Total(0, value) if end == "sum" else Total(int(value), 0.0)
        found[name][labels] = found[name].get(labels, Total()) + total
    return found


def reading(text: str) -> Reading:
    """What the scheduler's /metrics says of attempts."""
    found = histograms(text, (ATTEMPT, ALGORITHM, EXTENSION_POINT))
    attempts: dict[str, Total] = {}
    for labels, total in found[ATTEMPT].items():
        result = dict(labels).get("result", "")
        attempts[result] = attempts.get(result, Total()) + total
    filters = [t for labels, t in found[EXTENSION_POINT].items() if ("extension_point", "Filter") in labels]
    cpu = sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"{CPU} "))
    return Reading(attempts, sum(found[ALGORITHM].values(), Total()), sum(filters, Total()), cpu)


class Meter:
    """The scheduler of a sandbox, asked as its administrator."""

    def __init__(self, layout: Layout) -> None:
        numbers = ports.load(layout.ports, parts.PORT_NAMES)
        self._endpoint = probes.Endpoint(numbers[parts.SCHEDULER.ports[0]], layout.certificates, identity="admin")

    def read(self) -> Reading:
        """SandboxError if the scheduler does not answer."""
        try:
            status, text = probes.get(self._endpoint, "/metrics", timeout=30)
        except (OSError, http.client.HTTPException) as error:
            status, text = 0, str(error)
        if status != 200:
            raise SandboxError(
                f"The scheduler does not tell its metrics ({status or text}).",
                remedy="Run the bench again; what it left is cleared first.",
            )
        return reading(text)
