"""Many pods at once on many servers: what a form of claims costs when everything fits."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count as numbers

from sandbox.bench import objects
from sandbox.bench.attempts import template_name
from sandbox.bench.cluster import Cluster
from sandbox.bench.summary import Spread
from sandbox.errors import SandboxError

MIX = ((1, 30), (4, 25), (8, 25), (12, 10), (14, 5), (16, 5))
"""NPUs of a job → of a hundred jobs, so many: small jobs are common, and half of the NPUs go to jobs of 8 and more."""

LOAD = 0.6
"""How much of all NPUs a burst asks for; with the servers as empty as this leaves them, every job fits somewhere."""

MOST_JOBS = 300
SEED = 62

_numbers = numbers(1)
_STALLS_AFTER = 60.0


@dataclass
class Burst:
    """Repetitions of one burst: pods a second from the first creation to the last binding, Filter and CPU in ms a pod.

    refused: attempts that found no place, of all repetitions; they are in the figures.
    """

    form: str
    servers: int
    jobs: int
    rates: list[float] = field(default_factory=list)
    filters: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    refused: int = 0

    @property
    def rate(self) -> Spread:
        return Spread.of(self.rates)

    @property
    def cpu(self) -> Spread:
        return Spread.of(self.cpus)

    @property
    def filter(self) -> Spread:
        return Spread.of(self.filters)


def mixed_jobs(servers: int, npus: int, counts: Sequence[int], seed: int = SEED) -> list[int]:
    """The NPUs of each job of a burst, the same for the same arguments. npus: of one server."""
    mix = [(count, share) for count, share in MIX if count in counts]
    if not mix:
        return []
    chance = random.Random(seed)  # noqa: S311 - a mix of jobs, no secret
    jobs: list[int] = []
    while len(jobs) < MOST_JOBS:
        (count,) = chance.choices([count for count, _ in mix], [share for _, share in mix])
        if jobs and sum(jobs) + count > LOAD * servers * npus:
            break
        jobs.append(count)
    return jobs


def run(cluster: Cluster, burst: Burst, jobs: Sequence[int]) -> None:
    """One repetition: all the jobs of one form, from servers that are idle to all jobs bound, and everything removed.

    SandboxError where some are never bound.
    """
    number = next(_numbers)
    pods = [objects.pod(f"burst-{number}-{i}", template_name(burst.form, count)) for i, count in enumerate(jobs)]
    before = cluster.meter.read()
    started = time.monotonic()
    cluster.start(pods)
    spent, moved = cluster.meter.read().since(before), time.monotonic()
    while (bound := spent.ended("scheduled")) < len(jobs):
        if time.monotonic() - moved > _STALLS_AFTER:
            raise SandboxError(
                f"{len(jobs) - bound} of {len(jobs)} jobs in the form {burst.form} found no place on "
                f"{burst.servers} servers.",
                remedy="Run it with more --servers.",
            )
        # Not more often: every reading costs the scheduler some milliseconds.
        time.sleep(0.2)
        spent = cluster.meter.read().since(before)
        if spent.ended("scheduled") > bound:
            moved = time.monotonic()
    burst.rates.append(len(jobs) / (time.monotonic() - started))
    burst.filters.append(1000 * spent.filter.seconds / len(jobs))
    burst.cpus.append(1000 * spent.cpu / len(jobs))
    burst.refused += spent.all_attempts.count - len(jobs)
    cluster.clear()


def compare(
    cluster: Cluster, forms: Sequence[str], servers: int, jobs: Sequence[int], repeat: int, *, warm: bool = True
) -> list[Burst]:
    """The same jobs in each form, in turns; one repetition of each before does not count if warm."""
    found = [Burst(form, servers, len(jobs)) for form in forms]
    if warm:
        for burst in found:
            run(cluster, Burst(burst.form, servers, len(jobs)), jobs[: max(1, len(jobs) // 4)])
    for _ in range(repeat):
        for burst in found:
            run(cluster, burst, jobs)
    return found
