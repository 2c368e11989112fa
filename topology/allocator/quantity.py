"""Kubernetes quantities ("100m", "1.5Gi", "1e3") as whole numbers of 10⁻⁹, the finest step that Kubernetes keeps.

Rules: k8s.io/apimachinery/pkg/api/resource: finer parts are rounded up, more than 2⁶³-1 is 2⁶³-1.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

NANO = 10**9
MILLI = 10**6
MAX_INT64 = 2**63 - 1

_FORM = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE]?)")
_SUFFIX = {"n": Fraction(1, NANO), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)}
_SUFFIX |= {name: Fraction(1000**power) for power, name in enumerate("kMGTPE", 1)}
_SUFFIX |= {f"{name}i": Fraction(1024**power) for power, name in enumerate("KMGTPE", 1)}


@lru_cache(maxsize=4096)
def parse(text: str) -> int:
    """Billionths. ValueError where Kubernetes would not take it."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no quantity")
    sign, number, suffix = found.groups()
    if suffix in _SUFFIX:
        scale = _SUFFIX[suffix]
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > 64:
            raise ValueError(f"{text!r} is too large or too small a quantity")
        scale = Fraction(10) ** exponent
    # Away from zero, as infdec.RoundUp does.
    size = min(ceil(Fraction(number if number[0] != "." else f"0{number}") * scale * NANO), MAX_INT64 * NANO)
    return -size if sign == "-" else size


def rounded_up(value: int, unit: int) -> int:
    """How many units (in billionths), as Value() and MilliValue() of Kubernetes say it."""
    return -(-value // unit) if value >= 0 else value // unit
