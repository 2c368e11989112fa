"""docs/proofs.md: what every template of the shipped servers costs and yields, and why it is written so. Generated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cli.why import cheaper, not_taken, times, worst
from topology.by_order import by_order
from topology.claims import compile_templates
from topology.forms.choose import AFFORDABLE
from topology.model import Server
from topology.placements import choices
from topology.profiles import RINGFENCE, DriverProfile
from topology.proof import Proof
from topology.reasons import Reason, reasons

HEAD = f"""# Proofs

Written by `make docs`; do not edit. docs/templates.md says what the forms are.

For every template and every state of its server, that is, every set of NPUs that may be free: *lost*, states in which
an allowed set is free and the claim is not met; *broken*, sets that the claim allows and the promise does not; *worst
calls*, entries of the scheduler's inner function in the state that costs most. All of this is proven, none sampled.

*Where it fits* is an estimate: what the claim costs on an idle and on lightly used servers, as a multiple of a claim
for as many NPUs without constraints (topology/forms/cost.py has the measure, calibrated on the real scheduler). Of the
forms with at most {AFFORDABLE} worst calls the one that costs the least there is taken; of costs less than 5 %
apart, the one with the fewest expressions. *Not taken* names the cheapest form that is not affordable (worst calls of
at least so many) and the next that is.
"""


def proofs_page(servers: Sequence[Server], profile: DriverProfile, proofs: Mapping[str, Proof]) -> str:
    """proofs: template name → its proof, for all templates of the servers under the profile."""
    parts = [HEAD, f"Driver profile: `{profile.name}`.\n"]
    for server in servers:
        parts.append(f"## {server.name}\n")
        told = reasons(server, compile_templates(server, profile), profile)
        parts.append(markdown(_COLUMNS, (_row(reason, proofs[reason.template]) for reason in told)))
    for server in servers:
        parts += _orders(server)
    return "\n".join(parts)


_COLUMNS = (
    "template",
    "NPUs",
    "states",
    "lost",
    "broken",
    "worst calls",
    "form",
    "requests",
    "where it fits",
    "not taken",
    "cheaper if published",
)


def _row(reason: Reason, proof: Proof) -> tuple[str, ...]:
    cost = reason.why.chosen
    figures = (proof.count, proof.states, proof.lost, proof.broken, proof.worst_calls)
    return (
        reason.template,
        *(f"{figure:,}" for figure in figures),
        cost.family,
        str(cost.requests),
        times(cost),
        not_taken(reason),
        cheaper(reason),
    )


ORDERS_HEAD = """## Order of devices on a {server}

For a driver whose order is ours to choose (profile `ringfence`, which also publishes groups of four): where
the tightest template of so many NPUs fits, and its worst calls. What an order does to the jobs that fit is in
docs/fragmentation.md.
"""

ORDERED = (2, 4, 8, 10, 12, 14, 16)
"""Counts that the orders are compared for, on servers that have them all."""


def _orders(server: Server) -> list[str]:
    if not set(ORDERED) <= {choice.count for choice in choices(server)}:
        return []
    rows = (
        (", ".join(row.names), *(f"{times(cost)}, {worst(cost)}" for cost in row.costs))
        for row in by_order(server, RINGFENCE, ORDERED)
    )
    columns = ("order", *(f"{count} NPUs" for count in ORDERED))
    return [ORDERS_HEAD.format(server=server.name), markdown(columns, rows)]


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, ended by a line break."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
