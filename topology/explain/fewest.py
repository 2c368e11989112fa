"""The fewest devices that must be freed, exactly: what is not enough tells what is missing (implicit hitting sets)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

MAX_TRIED = 50_000
"""Vectors looked at for one that exceeds every core; past that, the answer is not known to be the smallest."""

Vector = tuple[int, ...]
"""So many of each class of devices that may stand for one another."""


def fewest(sizes: Sequence[int], fits: Callable[[Vector], bool | None]) -> tuple[Vector | None, bool]:
    """The smallest vector that fits, and whether it is known to be; None if not even all of them fit.

    fits: must not say no to more where it says yes to less. None from it: not known, which counts as no.
    """
    everything = tuple(sizes)
    unknown = False

    def fit(vector: Vector) -> bool:
        nonlocal unknown
        answer = fits(vector)
        unknown |= answer is None
        return bool(answer)

    if not fit(everything):
        return None, not unknown
    # Each: some class must give more than it says here.
    cores: list[Vector] = []
    while True:
        vector = _least(cores, everything)
        if vector is None or fit(vector):
            break
        cores.append(_most(vector, everything, fit))
        if unknown:
            vector = None
            break
    if vector is not None:
        return vector, not unknown
    # Nothing is certain any more: what suffices, with nothing in it that is known to be too much.
    enough = list(everything)
    for index in range(len(enough)):
        while enough[index]:
            enough[index] -= 1
            if not fits(tuple(enough)):
                enough[index] += 1
                break
    return tuple(enough), False


def _least(cores: Sequence[Vector], everything: Vector) -> Vector | None:
    """The smallest vector that exceeds every core somewhere."""
    start = (0,) * len(everything)
    seen, heap = {start}, [(0, start)]
    while heap and len(seen) < MAX_TRIED:
        total, vector = heapq.heappop(heap)
        core = next((one for one in cores if all(v <= c for v, c in zip(vector, one, strict=True))), None)
        if core is None:
            return vector
        for index, most in enumerate(everything):
            if core[index] < most:
                following = (*vector[:index], core[index] + 1, *vector[index + 1 :])
                if following not in seen:
                    seen.add(following)
                    heapq.heappush(heap, (total + following[index] - vector[index], following))
    return None


def _most(vector: Vector, everything: Vector, fit: Callable[[Vector], bool]) -> Vector:
    """As much more as still does not fit."""
    grown = list(vector)
    for index, most in enumerate(everything):
        low, high = grown[index], most
        while low < high:
            middle = (low + high + 1) // 2
            grown[index] = middle
            if fit(tuple(grown)):
                high = middle - 1
            else:
                low = middle
        grown[index] = low
    return tuple(grown)
