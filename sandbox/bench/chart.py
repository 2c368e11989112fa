"""A bar chart as SVG text: the same text for the same figures, so that a chart in the docs only changes with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_COLOURS = ("#1f77b4", "#d62728", "#7f7f7f", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")
_BAR, _GAP, _LEFT, _RIGHT, _WIDTH, _HEAD = 16, 14, 190, 90, 860, 64


@dataclass(frozen=True)
class Group:
    """label: beside the bars. bars: (series, value) in the order in which they are drawn."""

    label: str
    bars: tuple[tuple[str, float], ...]


def svg_bars(title: str, unit: str, groups: Sequence[Group], *, logarithmic: bool = False) -> str:
    """Horizontal bars in groups, each with its value. Values must be above 0 on a logarithmic scale.

    ValueError for values that cannot be drawn.
    """
    values = [value for group in groups for _, value in group.bars]
    if not values or any(not math.isfinite(value) or value < 0 or (logarithmic and value == 0) for value in values):
        raise ValueError("a chart needs finite values, above 0 where the scale is logarithmic")
    series = list(dict.fromkeys(name for group in groups for name, _ in group.bars))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(series)}
    low = 10 ** math.floor(math.log10(min(values))) if logarithmic else 0.0
    high = max(values) or 1.0
    rows: list[str] = []
    y = _HEAD
    for group in groups:
        middle = y + len(group.bars) * _BAR / 2 + 4
        rows.append(_text(_LEFT - 10, middle, group.label, "end"))
        for name, value in group.bars:
            length = max(1.0, _share(value, low, high, logarithmic) * (_WIDTH - _LEFT - _RIGHT))
            rows.append(
                f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR - 3}" fill="{colours[name]}">'
                f"<title>{escape(f'{group.label}, {name}: {_number(value)} {unit}')}</title></rect>"
            )
            rows.append(_text(_LEFT + length + 5, y + 11, f"{_number(value)} {unit}", "start", 11))
            y += _BAR
        y += _GAP
    legend, x = [], _LEFT
    for name in series:
        legend.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{colours[name]}"/>')
        legend.append(_text(x + 17, 46, name, "start"))
        x += 40 + 8 * len(name)
    scale = " (logarithmic)" if logarithmic else ""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" font-family="sans-serif" '
            f'font-size="12" role="img" aria-label="{escape(title, quote=True)}">',
            f'<rect width="{_WIDTH}" height="{y}" fill="#ffffff"/>',
            _text(16, 22, f"{title}, {unit}{scale}", "start", 15),
            *legend,
            *rows,
            "</svg>",
            "",
        ]
    )


def _share(value: float, low: float, high: float, logarithmic: bool) -> float:
    if not logarithmic:
        return value / high
    span = math.log10(high) - math.log10(low)
    return (math.log10(value) - math.log10(low)) / span if span else 1.0


def _number(value: float) -> str:
    """Three digits: 0.123, 12.3, 1230."""
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{round(value, digits):.{max(0, min(digits, 3))}f}"


def _text(x: float, y: float, words: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#222">{escape(words)}</text>'
