"""The jobs of a run: how large, when they come, when they would leave. The same for every strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from types import MappingProxyType

from topology.errors import TopologyError

Mix = Mapping[int, float]
"""NPUs a job asks for → its share of the jobs, in any unit."""

DEFAULT_MIX: Mix = MappingProxyType({1: 40.0, 2: 20.0, 4: 20.0, 8: 15.0, 16: 5.0})


@dataclass(frozen=True)
class Job:
    """count: NPUs asked for. arrives, leaves: in units of the mean time a job runs."""

    number: int
    count: int
    arrives: float
    leaves: float


def read_mix(text: str) -> Mix:
    """A mix as people write it: `1:40,2:20,16:5`. TopologyError says which part is none."""
    mix: dict[int, float] = {}
    for part in text.split(","):
        count, _, share = part.partition(":")
        try:
            key, value = int(count), float(share)
        except ValueError:
            key, value = 0, 0.0
        if key < 1 or not 0 < value < float("inf"):
            raise TopologyError(f"{part!r} is no size with a share.", remedy="Write the mix like 1:40,2:20,4:20.")
        if key in mix:
            raise TopologyError(f"{key} is there twice.", remedy="Write each size once.")
        mix[key] = value
    return MappingProxyType(dict(sorted(mix.items())))


def mean_count(mix: Mix) -> float:
    """NPUs that a job of the mix asks for on average."""
    return sum(count * share for count, share in mix.items()) / sum(mix.values())


def arrivals(mix: Mix, capacity: int, load: float, jobs: int, seed: int) -> tuple[Job, ...]:
    """Poisson arrivals of jobs that run for exponentially distributed times, whatever their size.

    load: NPUs asked for on average at any time, if every job were served at once, as a share of the capacity (the
    offered load of queueing theory). What is really in use is less, because a job that does not fit goes away.
    """
    random = Random(seed)  # noqa: S311 - reproducible is what it must be
    rate = load * capacity / mean_count(mix)
    sizes, bounds = list(mix), list(accumulate(mix.values()))
    now, found = 0.0, []
    for number in range(jobs):
        now += random.expovariate(rate)
        count = random.choices(sizes, cum_weights=bounds)[0]
        found.append(Job(number, count, now, now + random.expovariate(1.0)))
    return tuple(found)
