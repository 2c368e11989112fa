"""How many calls a search takes, in cases small enough to count by hand."""

from __future__ import annotations

import pytest

from tests.topology.worlds import DRIVER, RING, busy, device, npus, one, run, slice_of
from topology.allocator import TooLong, Unsatisfiable


class TestWhatASearchCosts:
    """Figures that were counted with another model of the search, which left out the last call of one that succeeds."""

    @pytest.mark.parametrize(("version", "calls"), [("1.34", 13_700), ("1.35", 13_700), ("1.36", 128), ("1.37", 128)])
    def test_eight_of_seven_free_devices(self, version: str, calls: int) -> None:
        outcome = run([slice_of(npus(7))], one(count=8), version=version)
        assert isinstance(outcome, Unsatisfiable)
        assert outcome.calls == calls, "from 1.36 on combinations are tried, before that permutations"

    def test_sixteen_of_fifteen_free_devices(self) -> None:
        outcome = run([slice_of(npus(15))], one(count=16))
        assert outcome.calls == 2**15, "no free device is counted before the search"

    @pytest.mark.parametrize(("version", "calls"), [("1.35", 27_399), ("1.37", 255)])
    def test_eight_of_one_ring_where_two_rings_have_seven(self, version: str, calls: int) -> None:
        outcome = run([slice_of(npus(14, group=7))], one(count=8), constraints=RING, version=version)
        assert isinstance(outcome, Unsatisfiable)
        assert outcome.calls == calls

    def test_single_requests_are_permuted_whatever_the_version(self) -> None:
        requests = [one(f"r{number}") for number in range(8)]
        outcome = run([slice_of(npus(14, group=7))], *requests, constraints=RING)
        assert outcome.calls == 54_797, "between requests there is no symmetry to use"

    @pytest.mark.parametrize(
        ("taken", "calls"),
        # The model left out the last call of a search that succeeds.
        [((), 25 + 1), ((8, 9), 19_137 + 1), ((0, 1, 2), 108_971)],
        ids=["all free", "six pairs left", "five pairs left"],
    )
    def test_twelve_in_the_order_of_the_proposal(self, taken: tuple[int, ...], calls: int) -> None:
        # Two rings of eight, i and i+8 on one PCIe switch; six of the one ring, six of the other, their partners.
        devices = [device(f"npu-{n}", {"ring": n // 8, "pair": n % 8}) for n in range(16)]
        names = [f"r{number}" for number in range(12)]
        constraints = [
            {"requests": names[:6], "matchAttribute": f"{DRIVER}/ring"},
            {"requests": names[6:], "matchAttribute": f"{DRIVER}/ring"},
            *({"requests": [names[n], names[n + 6]], "matchAttribute": f"{DRIVER}/pair"} for n in range(6)),
        ]
        outcome = run(
            [slice_of(devices), busy(*(f"npu-{n}" for n in taken))], *map(one, names), constraints=constraints
        )
        assert outcome.calls == calls

    def test_a_search_can_be_cut_short(self) -> None:
        with pytest.raises(TooLong):
            run([slice_of(npus(15))], one(count=16), limit=1000)
