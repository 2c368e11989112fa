"""What a simulation may be believed for: it gives nothing twice, bounds itself, and says the same again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from tests.topology.wirings import server, shipped
from topology.errors import TopologyError
from topology.model import Server
from topology.orders import ORDERS, slice_order
from topology.simulate.compare import Result, data, simulate
from topology.simulate.jobs import arrivals, mean_count, read_mix
from topology.simulate.packing import Packing
from topology.simulate.rules import Rule, Strictness, chosen_placements
from topology.simulate.run import BrokenSimulationError, Cluster, Outcome, run
from topology.simulate.scene import STRATEGIES, Scene, Setting, deployed
from topology.simulate.strategies import Effort, Nodes, Placed, Scheduler

LARGE = read_mix("1:30,2:20,3:5,4:15,6:5,8:10,10:3,12:5,14:2,16:5")


@pytest.fixture(scope="module")
def box16() -> Result:
    return simulate(shipped("box16"), Setting(servers=8, jobs=1200, mix=LARGE))


def outcome(result: Result, strategy: str) -> Outcome:
    return next(found for found in result.outcomes if found.strategy == strategy)


def served(result: Result, strategy: str, count: int) -> float:
    tally = outcome(result, strategy).sizes[count]
    return tally.fitted / tally.arrived


def test_the_same_seed_says_the_same_and_another_does_not() -> None:
    short = Setting(servers=4, jobs=400)
    again = [data(simulate(shipped("box16"), setting, ["ours"])) for setting in (short, short, Setting(4, 400, seed=2))]
    assert again[0] == again[1]
    assert again[0]["strategies"] != again[2]["strategies"]


def test_what_one_strategy_does_is_not_changed_by_those_played_before_it() -> None:
    short = Setting(servers=4, jobs=400)
    alone = simulate(shipped("box16"), short, ["ours"])
    assert outcome(simulate(shipped("box16"), short), "ours") == alone.outcomes[0]


def test_several_runs_are_the_sum_of_single_ones() -> None:
    runs = [simulate(shipped("800t-a3"), Setting(4, 300, mix={1: 1, 4: 1}, seed=s), ["ours"]) for s in (5, 6)]
    both = simulate(shipped("800t-a3"), Setting(4, 300, mix={1: 1, 4: 1}, seed=5, runs=2), ["ours"])
    assert both.outcomes[0].sizes[4].arrived == sum(result.outcomes[0].sizes[4].arrived for result in runs)
    assert both.outcomes[0].sizes[4].fitted == sum(result.outcomes[0].sizes[4].fitted for result in runs)


def test_a_count_without_constraints_breaks_promises_and_a_template_never_does(box16: Result) -> None:
    naive, ours = outcome(box16, "naive").sizes, outcome(box16, "ours").sizes
    assert all(naive[count].kept < naive[count].fitted for count in (2, 4, 8, 10, 12, 14))
    for strategy in ("ours", "ours-ends", "fill-first", "foresight"):
        assert all(tally.kept == tally.fitted for tally in outcome(box16, strategy).sizes.values()), strategy
    assert sum(tally.fitted for tally in ours.values()) > 0


def test_no_strategy_is_above_the_best_possible(box16: Result) -> None:
    for found in box16.outcomes:
        for count, tally in found.sizes.items():
            where = f"{found.strategy}, {count}"
            assert tally.fitted <= tally.possible_enough <= tally.enough <= tally.arrived, where
            assert tally.possible_enough <= tally.possible <= tally.arrived, where


def test_ours_loses_to_the_best_possible_only_where_jobs_were_put_apart(box16: Result) -> None:
    """The bound is no formality: it says of a 16-NPU job that failed that another arrangement had room for it."""
    sixteen = outcome(box16, "ours").sizes[16]
    assert sixteen.fitted < sixteen.possible


def test_the_counted_time_is_filled_with_what_was_given(box16: Result) -> None:
    assert all(0.3 < found.in_use < 0.8 for found in box16.outcomes), "offered 0.8, and some of it went away"


@pytest.mark.parametrize("strictness", list(Strictness))
@pytest.mark.parametrize(
    ("name", "mix"),
    [("800t-a3", {1: 2, 2: 1, 6: 1, 8: 1}), ("350-2p", {1: 1, 2: 1, 4: 1, 6: 1}), ("310p3", {1: 1, 2: 1, 5: 1})],
)
def test_every_kind_of_server_keeps_its_promises(name: str, mix: Mapping[int, float], strictness: Strictness) -> None:
    result = simulate(shipped(name), Setting(4, 500, mix=mix, load=1.2, strictness=strictness))
    assert all(tally.kept == tally.fitted for tally in outcome(result, "ours").sizes.values())
    assert "proposal" in result.left_out, "it writes nothing for this server, and that is said"


class _Scripted:
    """A strategy that does as it is told, to see whether the cluster notices."""

    name = "scripted"
    efforts: Mapping[int, Effort] = {}

    def __init__(self, *placed: Placed) -> None:
        self._placed = list(placed)

    def begin(self, seed: int) -> None: ...

    def place(self, count: int, free: Sequence[int]) -> Placed | None:
        return self._placed.pop(0)


@pytest.mark.parametrize("chosen", [0b11, 0b1, 0b111])
def test_an_npu_given_twice_or_a_wrong_number_is_noticed(chosen: int) -> None:
    stream = arrivals({2: 1}, 100, 1.0, 2, seed=1)
    scripted = _Scripted(Placed(0, 0b11), Placed(0, chosen))
    with pytest.raises(BrokenSimulationError):
        run(scripted, stream, Cluster(4, 1), lambda *_: True)


def test_all_that_was_given_comes_back() -> None:
    cluster = Cluster(4, 2)
    stream = arrivals({2: 1}, 8, 0.5, 3, seed=1)
    run(_Scripted(Placed(0, 0b11), Placed(0, 0b1100), Placed(1, 0b110)), stream, cluster, lambda *_: True)
    assert cluster.free == [0b1111, 0b1111]
    assert not +cluster.running


def test_a_busy_npu_is_refused_when_it_is_given() -> None:
    """Not only when it comes back: by then the figures would be wrong."""
    cluster = Cluster(4, 1)
    cluster.give(0, 0b11, 2)
    with pytest.raises(BrokenSimulationError):
        cluster.give(0, 0b110, 2)


def test_an_npu_cannot_come_back_twice() -> None:
    with pytest.raises(BrokenSimulationError):
        Cluster(4, 1).take_back(0, 0b1, 1)


def test_the_load_is_what_would_be_in_use_if_every_job_were_served() -> None:
    stream = arrivals(LARGE, 320, 0.7, 20_000, seed=3)
    asked = sum(job.count * (job.leaves - job.arrives) for job in stream) / stream[-1].arrives
    assert asked / 320 == pytest.approx(0.7, rel=0.05)
    assert sum(job.count for job in stream) / len(stream) == pytest.approx(mean_count(LARGE), rel=0.05)


def rules_of(found: Server, counts: Sequence[int]) -> dict[int, Rule]:
    placements = chosen_placements(found, Strictness.WIDEST, counts)
    return {count: Rule.of(placement, found.ids) for count, placement in placements.items()}


@pytest.mark.parametrize(
    ("name", "counts"), [("350-4p", (1, 2, 3, 4)), ("800t-a3", (1, 2, 4, 6)), ("350-2p", (2, 4, 6))]
)
def test_a_packing_is_found_just_where_trying_all_finds_one(name: str, counts: tuple[int, ...]) -> None:
    rules = rules_of(shipped(name), counts)
    packing = Packing(rules, 8, 2)

    def anyhow(jobs: list[int], free: tuple[int, int]) -> bool:
        if not jobs:
            return True
        return any(
            anyhow(jobs[1:], (free[0] & ~chosen, free[1]) if node == 0 else (free[0], free[1] & ~chosen))
            for node in (0, 1)
            for chosen in rules[jobs[0]].sets(free[node])
        )

    seen = set()
    for numbers in product(range(4), repeat=len(counts)):
        jobs = [count for count, number in zip(counts, numbers, strict=True) for _ in range(number)]
        if 10 <= sum(jobs) <= 14 and len(jobs) <= 5:
            found = packing.fits(dict(zip(counts, numbers, strict=True)))
            assert found is anyhow(sorted(jobs, reverse=True), (255, 255)), jobs
            seen.add(found)
    assert seen >= {True}


def test_a_packing_is_found_where_filling_nodes_with_the_largest_first_finds_none() -> None:
    packing = Packing(rules_of(shipped("800i-a2"), (2, 3, 4)), 8, 2)
    assert packing.fits({4: 1, 3: 2, 2: 3}) is True, "4+2+2 and 3+3+2; 4+3 first would leave nine for eight"


def test_what_only_the_rules_forbid_is_seen_not_to_pack() -> None:
    packing = Packing(rules_of(shipped("box16"), (4, 5, 12)), 16, 1)
    assert packing.fits({12: 1}) is True
    assert packing.fits({12: 1, 4: 1}) is False, "two pairs are left: four NPUs, two in each ring"
    assert packing.fits({5: 2}) is True
    assert packing.fits({5: 3}) is False, "fifteen NPUs, but a ring holds one five"


@pytest.mark.parametrize("name", list(ORDERS))
@pytest.mark.parametrize("model", ["box16", "310p3", "800t-a3", "350-4p"])
def test_an_order_lists_every_npu_once(name: str, model: str) -> None:
    assert sorted(slice_order(shipped(model), name)) == list(shipped(model).ids)


def test_the_orders_are_what_they_are_called() -> None:
    box16 = shipped("box16")
    assert slice_order(box16, "pairs")[:4] == (0, 8, 1, 9)
    assert slice_order(box16, "numa")[:8] == (0, 1, 2, 3, 8, 9, 10, 11)
    assert slice_order(box16, "opposed")[6:10] == (6, 7, 15, 14)
    assert slice_order(box16, "scattered")[:4] == (0, 4, 8, 12)
    assert slice_order(shipped("350-4p"), "interleaved")[:4] == (0, 4, 1, 5)


def test_rings_one_after_the_other_break_less_often_than_partners_side_by_side() -> None:
    """First fit takes single NPUs from both rings where partners are listed together, and then no ring is whole."""
    eights = {}
    for order in ("id", "pairs"):
        result = simulate(shipped("box16"), Setting(jobs=4000, order=order), ["ours"])
        eights[order] = served(result, "ours", 8)
    assert eights["id"] > eights["pairs"] + 0.03


def test_a_scheduler_that_packs_comes_within_five_points_of_fill_first() -> None:
    """And one that leaves the node to chance does not, whatever the template."""
    packed, random = (
        simulate(shipped("box16"), Setting(jobs=4000, nodes=nodes, runs=2), ["ours", "fill-first"])
        for nodes in (Nodes.PACK, Nodes.RANDOM)
    )
    for count in (1, 2, 4, 8):
        assert served(packed, "ours", count) > served(packed, "fill-first", count) - 0.05
    assert served(packed, "ours", 16) > served(random, "ours", 16) + 0.4
    assert served(random, "fill-first", 16) > served(random, "ours", 16) + 0.4


def scheduler(nodes: Nodes, strategy: str) -> Scheduler:
    return deployed(Scene.of(shipped("box16"), Setting(nodes=nodes)), strategy)


@pytest.mark.parametrize(
    ("nodes", "may"), [(Nodes.RANDOM, {0, 1, 2}), (Nodes.SPREAD, {1}), (Nodes.PACK, {0, 2})], ids=str
)
def test_what_the_scheduler_may_do_is_told_whole_and_nothing_else_is_ever_done(nodes: Nodes, may: set[int]) -> None:
    """Of four nodes one is full; of the others two have one ring free and one all."""
    free = (0xFF00, 0xFFFF, 0x00FF, 0)
    model = scheduler(nodes, "ours")
    best = model.best(8, free)
    assert {placed.node for placed in best} == may
    assert {model.place(8, free) for _ in range(40)} == set(best), "each of them is drawn now and then, and no other"
    assert all(placed.chosen & ~free[placed.node] == 0 for placed in best)
    assert model.best(8, (0xF0F0, 0x0FF0)) == (), "eight are free, but of two rings"


def test_of_nodes_alike_the_first_is_taken_where_luck_is_out_of_it() -> None:
    free = (0xFF00, 0xFFFF, 0x00FF, 0)
    first = scheduler(Nodes.FIRST, "ours")
    assert first.best(8, free) == scheduler(Nodes.RANDOM, "ours").best(8, free)
    assert {first.place(8, free) for _ in range(20)} == {Placed(0, 0xFF00)}


def test_asking_what_may_be_done_leaves_luck_and_effort_alone() -> None:
    free = (0xFFFF,) * 9
    asked, silent = scheduler(Nodes.RANDOM, "ours"), scheduler(Nodes.RANDOM, "ours")
    for _ in range(20):
        asked.best(1, free)
        assert asked.place(1, free) == silent.place(1, free)
    assert asked.efforts == silent.efforts


def test_a_better_alternative_counts_for_more_than_a_fuller_node() -> None:
    """Twelve NPUs free, eight of one ring among them, against just eight of two, where relaxed fits too."""
    free = (0x0FFF, 0x0FF0)
    assert [placed.node for placed in scheduler(Nodes.PACK, "relaxed").best(8, free)] == [0]
    assert [placed.node for placed in scheduler(Nodes.PACK, "relaxed").best(4, free)] == [1]


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "'' is no size"), ("1", "'1' is no"), ("0:5", "'0:5'"), ("1:-2", "'1:-2'"), ("1:inf", "'1:inf'")],
)
def test_a_mix_that_is_none_is_refused_by_its_part(text: str, says: str) -> None:
    with pytest.raises(TopologyError, match=says):
        read_mix(text)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (Setting(servers=0), "0 servers"),
        (Setting(jobs=0), "0 jobs"),
        (Setting(load=0), "load of 0"),
        (Setting(load=float("nan")), "load of nan"),
        (Setting(mix={9: 1}), "no 9 NPUs"),
        (Setting(order="by-luck"), "no device order"),
    ],
)
def test_a_run_that_cannot_be_is_refused(setting: Setting, says: str) -> None:
    with pytest.raises(TopologyError, match=says):
        simulate(shipped("box16"), setting)


def test_a_server_too_large_to_simulate_is_refused() -> None:
    large = server(lambda a, b: "HCCS", ids=range(17), affinity=None)
    with pytest.raises(TopologyError, match="17 NPUs"):
        simulate(large, Setting(mix={1: 1}), list(STRATEGIES))
