"""What the CEL selectors of a class or a request let in, and what cannot be told of them."""

from __future__ import annotations

import pytest

from tests.topology.worlds import DRIVER, cel, device, given, npus, one, run, slice_of
from topology.allocator import Allocated, Fatal, Unmodelled, Unsatisfiable


class TestSelectors:
    def test_a_missing_field_fails_the_pod_everywhere(self) -> None:
        things = [slice_of([device("bare"), device("x", {"ring": 1})])]
        asked = f'device.attributes["{DRIVER}"].ring == 1'
        outcome = run(things, one(selectors=cel(asked)))
        assert isinstance(outcome, Fatal), "one foreign device aborts all, even where another would do"
        assert "npu.example/n/bare" in outcome.why, "the message should say on which device"
        assert given(run(things, one(selectors=cel(f'has(device.attributes["{DRIVER}"].ring) && {asked}')))) == ["x"]

    def test_an_error_that_the_search_does_not_come_to_does_not_count(self) -> None:
        things = [slice_of([device("x", {"ring": 1}), device("bare")])]
        assert given(run(things, one(selectors=cel(f'device.attributes["{DRIVER}"].ring == 1')))) == ["x"]

    @pytest.mark.parametrize(
        ("expression", "true"),
        [
            ('device.driver == "npu.example"', True),
            ('"nowhere" in device.attributes', False),
            ('device.attributes["nowhere"].size() == 0', True),
            ('has(device.attributes["nowhere"].x)', False),
            ('"ring" in device.attributes["npu.example"]', True),
            ('device.attributes["npu.example"].ring in [2, 3]', True),
            ('device.attributes["npu.example"].ring == "3"', False),
            ('device.attributes["npu.example"].?none.orValue(7) == 7', True),
            ('device.capacity["npu.example"].mem.compareTo(quantity("32Gi")) == 0', True),
            ('device.capacity["npu.example"].mem.isGreaterThan(quantity("33000M"))', True),
            ('device.capacity["npu.example"].mem == quantity("32768Mi")', True),
            ('device.attributes["npu.example"].fw.isLessThan(semver("1.10.0"))', True),
            ('device.attributes["npu.example"].fw.isLessThan(semver("1.9.0-rc.1"))', False),
            ('device.attributes["npu.example"].fw.minor() == 9', True),
            ("!device.allowMultipleAllocations", True),
            ("device.attributes.exists(d, d == 'npu.example')", True),
        ],
    )
    def test_the_environment_is_that_of_kubernetes(self, expression: str, true: bool) -> None:
        thing = device("x", {"ring": 3}, capacity={"mem": {"value": "32Gi"}})
        thing["attributes"]["fw"] = {"version": "1.9.0"}
        outcome = run([slice_of([thing])], one(selectors=cel(expression)))
        assert isinstance(outcome, Allocated if true else Unsatisfiable), outcome

    @pytest.mark.parametrize(
        "expression",
        [
            'device.attributes["npu.example"].fw == "1.9.0"',
            "device.attributes[device.driver].ring == 1",
            'sets.contains([1], [device.attributes["npu.example"].ring])',
            "device.nothing == 1",
        ],
    )
    def test_what_cannot_be_told_is_refused(self, expression: str) -> None:
        thing = device("x", {"ring": 3})
        thing["attributes"]["fw"] = {"version": "1.9.0"}
        with pytest.raises(Unmodelled):
            run([slice_of([thing])], one(selectors=cel(expression)))

    def test_one_name_in_two_spellings_is_the_schedulers_chance(self) -> None:
        thing = device("x", {"ring": 3, f"{DRIVER}/ring": 4})
        with pytest.raises(Unmodelled, match="chance"):
            run([slice_of([thing])], one(selectors=cel(f'device.attributes["{DRIVER}"].ring == 3')))

    def test_the_class_selects_too(self) -> None:
        classes = {"selectors": cel(f'device.attributes["{DRIVER}"].id == 2')}
        assert given(run([slice_of(npus(4))], one(), classes=classes)) == ["npu-2"]
