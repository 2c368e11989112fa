"""Repetitions as median and spread, and what is compared as ratios of medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Of repetitions: the median, the least, the most, and how many there were. Units are the caller's."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """ValueError for none."""
        if not values:
            raise ValueError("there is nothing to summarize")
        return cls(median(values), min(values), max(values), len(values))

    def plain(self, digits: int = 3) -> dict[str, Any]:
        return {
            "median": round(self.median, digits),
            "min": round(self.low, digits),
            "max": round(self.high, digits),
            "n": self.n,
        }


def ratio(part: float, whole: float, digits: int = 4) -> float | None:
    """part ÷ whole; None where there is nothing to compare with."""
    return round(part / whole, digits) if whole > 0 else None
