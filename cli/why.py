"""Why templates are written as they are, for people: a row for each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from topology.forms.choose import AFFORDABLE, Figures
from topology.reasons import Reason

COLUMNS = (
    "template",
    "NPUs",
    "form",
    "requests",
    "expressions",
    "where it fits",
    "worst calls",
    "not taken",
    "cheaper",
)


def why_table(told: Sequence[Reason]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in COLUMNS[3:7] or column == "NPUs" else "left")
    for reason in told:
        cost = reason.why.chosen
        table.add_row(
            reason.template,
            str(reason.count),
            cost.family,
            str(cost.requests),
            str(cost.expressions),
            times(cost),
            str(cost.worst),
            not_taken(reason),
            cheaper(reason),
        )
    return table


def times(cost: Figures) -> str:
    """Against a claim for as many NPUs without constraints."""
    return f"{cost.common:.2f} ×"


def not_taken(reason: Reason) -> str:
    """The cheapest form where it fits, if its worst state is too costly, and the next best that is affordable."""
    others = reason.why.others
    shown = [*[cost for cost in others if cost.at_least][:1], *[cost for cost in others if not cost.at_least][:1]]
    return "; ".join(f"{cost.family}: {times(cost)}, worst {worst(cost)}" for cost in shown) or "-"


def worst(cost: Figures) -> str:
    return f"≥ {cost.worst:,}" if cost.at_least else f"{cost.worst:,}"


def cheaper(reason: Reason) -> str:
    """What the driver might publish for it."""
    found = [
        f"{times(cost)}, worst {worst(cost)}, if the driver published {attribute}"
        for attribute, cost in reason.why.cheaper_with
    ]
    if not found and reason.why.chosen.worst > AFFORDABLE:
        return "no: an alternative cannot be split into requests"
    return "; ".join(found) or "-"
