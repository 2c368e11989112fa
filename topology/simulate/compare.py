"""One cluster and one stream of jobs, played with each strategy: what `ringfence simulate` prints, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topology.errors import TopologyError
from topology.model import Server
from topology.profiles import OPENFUYAO, DriverProfile
from topology.simulate.jobs import arrivals
from topology.simulate.packing import Packing
from topology.simulate.rules import Judge
from topology.simulate.run import Cluster, Outcome, run, total
from topology.simulate.scene import STRATEGIES, Scene, Setting
from topology.simulate.strategies import Scheduler, Strategy


@dataclass(frozen=True)
class Result:
    """outcomes: in the order of the strategies. efforts: strategy → count → (searches, mean calls, worst calls).

    left_out: strategies that have nothing for this server or mix, and why.
    """

    server: str
    setting: Setting
    outcomes: tuple[Outcome, ...]
    efforts: Mapping[str, Mapping[int, tuple[int, float, int]]]
    left_out: Mapping[str, str]


def simulate(
    server: Server,
    setting: Setting,
    strategies: Sequence[str] = tuple(STRATEGIES),
    profile: DriverProfile = OPENFUYAO,
    seen: Callable[[str], None] = lambda _: None,
) -> Result:
    """Each strategy with the same jobs, its own cluster and its own luck, both from the seed.

    A tenth of the jobs is played before counting starts. seen is called with each strategy's name as it begins.
    TopologyError for a mix that the server does not offer, more than 16 NPUs, or a driver that publishes no topology.
    """
    scene = Scene.of(server, setting, profile)
    packing = Packing(scene.rules, len(scene.order), setting.servers)
    outcomes: list[Outcome] = []
    efforts: dict[str, Mapping[int, tuple[int, float, int]]] = {}
    left_out: dict[str, str] = {}
    for name in strategies:
        seen(name)
        try:
            strategy = STRATEGIES[name](scene)
        except TopologyError as error:
            if name == "ours":
                raise
            left_out[name] = error.reason
            continue
        outcomes.append(_play(scene, strategy, packing))
        efforts[name] = {
            count: (effort.searches, effort.calls / effort.searches if effort.searches else 0.0, effort.worst)
            for count, effort in strategy.efforts.items()
        }
    return Result(server.name, setting, tuple(outcomes), efforts, left_out)


def _play(scene: Scene, strategy: Strategy, packing: Packing) -> Outcome:
    setting = scene.setting
    order = scene.order if isinstance(strategy, Scheduler) else tuple(sorted(scene.server.ids))
    judge = Judge(scene.server, order, {count: placement.promise for count, placement in scene.placements.items()})
    outcomes = []
    for seed in range(setting.seed, setting.seed + setting.runs):
        stream = arrivals(setting.mix, len(order) * setting.servers, setting.load, setting.jobs, seed)
        strategy.begin(seed)
        cluster = Cluster(len(order), setting.servers)
        outcomes.append(run(strategy, stream, cluster, judge.keeps, packing, settle=setting.jobs // 10))
    return total(outcomes)


def simulate_orders(
    server: Server, setting: Setting, orders: Sequence[str], strategies: Sequence[str] = ("ours",)
) -> tuple[Result, ...]:
    """The same run with each device order, so that they can be compared."""
    return tuple(simulate(server, replace(setting, order=order), strategies) for order in orders)


def data(result: Result) -> dict[str, Any]:
    """The result as JSON has it. Shares are of 1; null where nothing was there to take a share of."""
    setting = result.setting
    return {
        "server": result.server,
        "servers": setting.servers,
        "jobs": setting.jobs,
        "load": setting.load,
        "mix": {str(count): share for count, share in setting.mix.items()},
        "seed": setting.seed,
        "runs": setting.runs,
        "order": setting.order,
        "nodes": setting.nodes.value,
        "promise": setting.strictness.value,
        "strategies": [
            {
                "strategy": outcome.strategy,
                "in_use": outcome.in_use,
                "share_of_npus_served": npus_served(outcome),
                "sizes": _sizes(result, outcome),
            }
            for outcome in result.outcomes
        ],
        "left_out": dict(result.left_out),
    }


def _sizes(result: Result, outcome: Outcome) -> list[dict[str, Any]]:
    rows = []
    for count, tally in outcome.sizes.items():
        effort = result.efforts[outcome.strategy].get(count)
        rows.append(
            {
                "count": count,
                "arrived": tally.arrived,
                "enough_free": tally.enough,
                "fitted": tally.fitted,
                "kept": tally.kept,
                "possible": tally.possible,
                "possible_enough_free": tally.possible_enough,
                "undecided": tally.undecided,
                "share_fits_when_enough_free": share(tally.fitted, tally.enough),
                "share_possible_when_enough_free": share(tally.possible_enough, tally.enough),
                "share_served": share(tally.fitted, tally.arrived),
                "share_possible": share(tally.possible, tally.arrived),
                "share_kept": share(tally.kept, tally.fitted),
                "mean_calls": effort[1] if effort else None,
                "worst_calls": effort[2] if effort else None,
            }
        )
    return rows


def npus_served(outcome: Outcome) -> float | None:
    """Of the NPUs that all jobs asked for, the share that was given."""
    given = sum(count * tally.fitted for count, tally in outcome.sizes.items())
    return share(given, sum(count * tally.arrived for count, tally in outcome.sizes.items()))


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
