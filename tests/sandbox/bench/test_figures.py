"""From the scheduler's metrics to figures: nothing is counted that was there before, and every ratio says of what."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sandbox.bench.attempts import FAILING, IDLE, Attempt, Case, Measured
from sandbox.bench.bursts import LOAD, MOST_JOBS, Burst, mixed_jobs
from sandbox.bench.chart import Group, svg_bars
from sandbox.bench.kind import Order
from sandbox.bench.metrics import Reading, Total, histograms, reading
from sandbox.bench.preview import error_lines
from sandbox.bench.results import attempt_rows, burst_rows, chart, in_short
from sandbox.bench.summary import Spread, ratio

TEXT = """\
# HELP scheduler_scheduling_attempt_duration_seconds [STABLE] Scheduling attempt latency in seconds
# TYPE scheduler_scheduling_attempt_duration_seconds histogram
scheduler_scheduling_attempt_duration_seconds_bucket{profile="default-scheduler",result="scheduled",le="0.001"} 0
scheduler_scheduling_attempt_duration_seconds_bucket{profile="default-scheduler",result="scheduled",le="+Inf"} 3
scheduler_scheduling_attempt_duration_seconds_sum{profile="default-scheduler",result="scheduled"} 0.06
scheduler_scheduling_attempt_duration_seconds_count{profile="default-scheduler",result="scheduled"} 3
scheduler_scheduling_attempt_duration_seconds_sum{profile="default-scheduler",result="unschedulable"} 6.31e+00
scheduler_scheduling_attempt_duration_seconds_count{profile="default-scheduler",result="unschedulable"} 1
scheduler_scheduling_algorithm_duration_seconds_sum 0.5
scheduler_scheduling_algorithm_duration_seconds_count 4
process_cpu_seconds_total 2.5
scheduler_framework_extension_point_duration_seconds_sum{extension_point="Filter",profile="a",status="Success"} 0.004
scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",profile="a",status="Success"} 3
scheduler_framework_extension_point_duration_seconds_sum{extension_point="Filter",profile="a",status="No"} 6
scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",profile="a",status="No"} 1
scheduler_framework_extension_point_duration_seconds_sum{extension_point="PreFilter",profile="a",status="Success"} 9
scheduler_framework_extension_point_duration_seconds_count{extension_point="PreFilter",profile="a",status="Success"} 4
"""


def test_the_histograms_are_read_by_result_and_extension_point() -> None:
    found = reading(TEXT)
    assert found.attempts == {"scheduled": Total(3, 0.06), "unschedulable": Total(1, 6.31)}
    assert found.algorithm == Total(4, 0.5)
    assert found.filter == Total(4, 6.004), "PreFilter is another point"
    assert found.ended("error") == 0
    assert found.cpu == 2.5


def test_only_what_came_in_between_counts() -> None:
    before = reading(TEXT)
    after = reading(TEXT.replace('result="scheduled"} 3', 'result="scheduled"} 5').replace("} 0.06", "} 0.1"))
    spent = after.since(before)
    assert spent.ended("scheduled") == 2
    assert spent.all_attempts.mean == pytest.approx(0.02)
    assert spent.filter == Total(0, 0.0)
    assert spent.filter.mean == 0
    assert after.since(Reading()).ended("scheduled") == 5, "a result that is new counts from nothing"


def test_a_label_may_hold_what_looks_like_its_end() -> None:
    text = 'x_sum{a="1,\\"b}\\"",c="d"} 2\nx_count{c="d",a="1,\\"b}\\""} 4\nxy_sum 7\n'
    assert histograms(text, ["x"]) == {"x": {(("a", '1,\\"b}\\"'), ("c", "d")): Total(4, 2.0)}}


def test_a_spread_tells_the_median_and_the_ends() -> None:
    assert Spread.of([3.0, 1.0, 10.0]).plain() == {"median": 3.0, "min": 1.0, "max": 10.0, "n": 3}
    with pytest.raises(ValueError, match="nothing"):
        Spread.of([])
    assert ratio(1, 4) == 0.25
    assert ratio(1, 0) is None


def measured(form: str, count: int, state: str, *seconds: float) -> Measured:
    ended = "unschedulable" if state == FAILING else "scheduled"
    attempts = [Attempt(ended, second, second, second / 2) for second in seconds]
    return Measured(Case(form, count, state, (0,)), Order.BY_ID, attempts)


def test_each_row_has_its_comparisons_from_the_same_run() -> None:
    rows = attempt_rows(
        [
            measured("plain", 1, IDLE, 0.010),
            measured("compiled", 12, IDLE, 0.018, 0.020, 0.100),
            measured("proposal", 12, IDLE, 0.040),
            measured("plain", 12, IDLE, 0.016),
            measured("compiled", 12, FAILING, 0.002),
        ]
    )
    ours = rows[1]
    assert ours["attempt_ms"] == {"median": 20.0, "min": 18.0, "max": 100.0, "n": 3}
    assert ours["to_proposal"] == {"attempt": 0.5, "filter": 0.5}
    assert ours["to_plain"]["attempt"] == 1.25
    assert ours["to_one"]["attempt"] == 2.0
    assert "to_plain" not in rows[3], "nothing is compared with itself"
    assert not {"to_proposal", "to_plain", "to_one"} & rows[4].keys(), "what was not measured is not compared with"


def test_in_short_it_tells_what_ours_costs_where_it_fits_and_where_it_must_fail() -> None:
    rows = attempt_rows(
        [
            measured("plain", 1, IDLE, 0.010),
            measured("compiled", 1, IDLE, 0.090),
            *(measured("plain", count, IDLE, 0.010) for count in (4, 12, 16)),
            *(measured("compiled", count, IDLE, 0.010 * n) for n, count in enumerate((4, 12, 16), 1)),
            measured("compiled", 4, FAILING, 0.002),
            measured("proposal", 4, FAILING, 0.002),
            measured("compiled", 16, FAILING, 0.002),
            measured("proposal", 16, FAILING, 4.0),
        ]
    )
    found = in_short(rows)
    assert found["to_plain"] == {"median": 2.0, "min": 1.0, "max": 3.0, "n": 3}, (
        "one NPU is the same claim in each form"
    )
    assert found["to_one"]["median"] == 2.0
    assert found["to_proposal"] == {"16": 0.0005}, "up to a ring the layouts hardly differ"
    assert in_short([]) == {"to_proposal": {}}


def test_bursts_are_compared_on_as_many_servers() -> None:
    bursts = [
        Burst("compiled", 10, 4, [20.0], [3.0], [9.0]),
        Burst("plain", 10, 4, [25.0], [2.0], [6.0], 1),
        Burst("x", 20, 4, [1], [1], [1]),
    ]
    rows = burst_rows(bursts)
    assert rows[0]["to_plain"] == {"pods_per_second": 0.8, "filter": 1.5, "cpu": 1.5}
    assert "to_plain" not in rows[2]
    assert rows[1]["refused"] == 1


def test_a_mix_of_jobs_is_the_same_every_time_and_leaves_room() -> None:
    jobs = mixed_jobs(50, 16, (1, 4, 8, 12, 14, 16))
    assert jobs == mixed_jobs(50, 16, (1, 4, 8, 12, 14, 16))
    assert 0.5 * 50 * 16 < sum(jobs) <= LOAD * 50 * 16
    assert set(jobs) == {1, 4, 8, 12, 14, 16}
    assert len(mixed_jobs(1000, 16, (1, 4))) == MOST_JOBS
    assert mixed_jobs(50, 16, (3,)) == []


def test_a_chart_is_well_formed_and_the_same_for_the_same_figures() -> None:
    groups = [Group("12 <NPUs>", (("ours", 2.0), ("proposal", 1000.0))), Group("14", (("ours", 28.0),))]
    drawn = svg_bars("Cost & such", "ms", groups, logarithmic=True)
    assert drawn == svg_bars("Cost & such", "ms", groups, logarithmic=True)
    root = ElementTree.fromstring(drawn)
    rects = [
        r
        for r in root.iter("{http://www.w3.org/2000/svg}rect")
        if r.find("{http://www.w3.org/2000/svg}title") is not None
    ]
    assert len(rects) == 3
    widths = [float(rect.attrib["width"]) for rect in rects]
    assert widths[1] == max(widths)
    assert widths[0] < widths[2] < widths[1], "longer is more"
    assert "1000 ms" in drawn
    assert "12 &lt;NPUs&gt;" in drawn


def test_a_bar_is_as_long_as_its_value() -> None:
    root = ElementTree.fromstring(svg_bars("x", "s", [Group("a", (("one", 1.0), ("four", 4.0)))]))
    titled = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if len(r)]
    assert float(titled[1].attrib["width"]) == pytest.approx(4 * float(titled[0].attrib["width"]), rel=0.01)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_what_cannot_be_drawn_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        svg_bars("x", "s", [Group("a", (("one", value),))], logarithmic=True)


def test_the_chart_of_a_run_shows_the_attempts_that_must_fail() -> None:
    rows = attempt_rows([measured("compiled", 12, FAILING, 0.031), measured("plain", 12, IDLE, 0.5)])
    drawn = chart(rows, "v1.37.2")
    assert "31.0 ms" in drawn
    assert "plain" not in drawn


def test_a_preview_that_fails_says_why_in_pulumis_words() -> None:
    assert error_lines("{\n  error: no such context\n  fine\n}") == ["error: no such context"]
