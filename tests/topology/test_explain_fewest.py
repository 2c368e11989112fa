"""The fewest that suffice are found without trying every set, and are the fewest."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from topology.explain.fewest import Vector, fewest

SIZES = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@given(SIZES, st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), max_size=4))
@example([3, 3], [[0, 3, 0, 0], [1, 0, 0, 0]])
@example([3, 3], [[3, 0, 0, 0], [0, 2, 0, 0]])
def test_as_few_as_trying_every_one_finds(sizes: list[int], enough: list[list[int]]) -> None:
    def fits(vector: Vector) -> bool:
        return any(all(v >= least for v, least in zip(vector, one, strict=False)) for one in enough)

    found, exact = fewest(sizes, fits)
    every = [vector for vector in product(*(range(size + 1) for size in sizes)) if fits(vector)]
    assert exact
    assert (found is None) is (not every)
    if found is not None:
        assert fits(found)
        assert sum(found) == min(map(sum, every))


def test_one_class_takes_a_handful_of_tries() -> None:
    tried: list[Vector] = []

    def fits(vector: Vector) -> bool:
        tried.append(vector)
        return vector[0] >= 40

    assert fewest([100], fits) == ((40,), True)
    assert len(tried) < 15, "devices that may stand for one another are not tried one by one"


def test_what_is_not_known_is_not_called_the_fewest() -> None:
    found, exact = fewest([4], lambda vector: None if vector[0] == 2 else vector[0] > 2)
    assert (found, exact) == ((3,), False)
