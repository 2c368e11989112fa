"""The figures of docs/fragmentation.md, simulated and written between its markers; the text around them is by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from cli import page as page_
from cli.proofs_page import markdown
from topology.model import Server
from topology.orders import ORDERS, slice_order
from topology.simulate.compare import Result, npus_served, share, simulate
from topology.simulate.jobs import DEFAULT_MIX, read_mix
from topology.simulate.run import Outcome, Tally
from topology.simulate.scene import STRATEGIES, Setting
from topology.simulate.strategies import Nodes

BEGIN, END = "<!-- figures: begin, written by `make docs` -->\n", "<!-- figures: end -->\n"

RUNS = 3
MIXES = {
    "default mix": dict(DEFAULT_MIX),
    "larger mix": dict(read_mix("1:30,2:20,3:5,4:15,6:5,8:10,10:3,12:5,14:2,16:5")),
}
NODES = (Nodes.RANDOM, Nodes.PACK)
SETTINGS = {(mix, nodes): Setting(mix=MIXES[mix], nodes=nodes, runs=RUNS) for mix in MIXES for nodes in NODES}
NEAR = 5.0
"""Points from the best possible that the templates are meant to stay within."""

OURS, REFERENCE = "ours", "fill-first"

Job = tuple[Server, Setting, tuple[str, ...]]


def figures(server: Server, settings: dict[tuple[str, Nodes], Setting]) -> str:
    """All tables, for these settings. Minutes of work for those of the docs; the same settings give the same text."""
    orders = _different_orders(server)
    keys = [(mix, nodes, order) for mix, nodes in settings for order in orders]
    jobs: list[Job] = []
    for mix, nodes, order in keys:
        asked = settings[mix, nodes]
        setting = Setting(asked.servers, asked.jobs, asked.load, asked.mix, asked.seed, asked.runs, order, nodes)
        jobs.append((server, setting, tuple(STRATEGIES) if order == "id" else (OURS,)))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(keys, pool.map(_simulate, jobs), strict=True))
    by_id = {(mix, nodes): found[mix, nodes, "id"] for mix, nodes in settings}
    parts = [_nearness(by_id)]
    for mix in dict.fromkeys(mix for mix, _ in settings):
        parts.append(f"### Strategies, {mix}\n\n" + _strategies({n: r for (m, n), r in by_id.items() if m == mix}))
        parts.append(
            f"### Orders, {mix}\n\n" + _orders({(n, order): r for (m, n, order), r in found.items() if m == mix})
        )
    return "\n".join(parts)


def put(page: Path, text: str) -> None:
    """The page with the text between its markers. ValueError where it has none."""
    page_.put(page, BEGIN, END, text)


def _simulate(job: Job) -> Result:
    server, setting, strategies = job
    return simulate(server, setting, strategies)


def _different_orders(server: Server) -> list[str]:
    found: dict[tuple[int, ...], str] = {}
    for name in ORDERS:
        found.setdefault(slice_order(server, name), name)
    return list(found.values())


def _nearness(results: dict[tuple[str, Nodes], Result]) -> str:
    """For each size how often ours fits when enough NPUs are free, beside the best possible and fill-first."""
    rows: list[list[str]] = []
    near: list[str] = []
    far: list[str] = []
    for (mix, nodes), result in results.items():
        ours, reference = _outcome(result, OURS), _outcome(result, REFERENCE)
        short: list[str] = []
        for count, tally in ours.sizes.items():
            fits, could = share(tally.fitted, tally.enough), share(tally.possible_enough, tally.enough)
            theirs = reference.sizes[count]
            served, other = share(tally.fitted, tally.arrived), share(theirs.fitted, theirs.arrived)
            if fits is None or could is None or served is None or other is None:
                continue
            gap = 100 * (could - fits)
            if gap > NEAR:
                short.append(f"{count} ({gap:.1f})")
            if fits < 1 or served < other:
                best = (_percent(fits), _percent(could), f"{gap:.1f}")
                rule = (_percent(served), _percent(other), f"{100 * (other - served):.1f}")
                rows.append([mix, nodes, str(count), *best, *rule])
        where = f"{mix}, nodes {nodes}"
        near += [] if short else [where]
        far += [f"{where}: {', '.join(short)}"] if short else []
    columns = (
        "mix",
        "nodes",
        "NPUs",
        "ours, when enough are free",
        "best possible",
        "points short",
        "ours, of all",
        "fill-first, of all",
        "points short",
    )
    verdict = [
        "### How near ours is\n",
        f"Within {NEAR:g} points of the best possible at every size: {'; '.join(near) or 'nowhere'}.",
        f"Further away, with the points: {'; '.join(far) or 'nowhere'}.\n",
        "Sizes that are not listed always fit when enough are free.\n",
    ]
    return "\n".join([*verdict, markdown(columns, rows)])


def _strategies(results: dict[Nodes, Result]) -> str:
    """Shares of the jobs served, a row for each way of choosing."""
    counts = list(next(iter(results.values())).outcomes[0].sizes)
    columns = ("nodes", "strategy", *map(str, counts), "all NPUs", "promises kept", "mean calls", "worst")
    rows = (
        [nodes if result.efforts.get(outcome.strategy) else "its own", *strategy_row(result, outcome)]
        for nodes, result in results.items()
        for outcome in result.outcomes
    )
    unique = {tuple(row): None for row in rows}
    return markdown(columns, unique)


def strategy_row(result: Result, outcome: Outcome) -> list[str]:
    """From the strategy's name on."""
    efforts = result.efforts[outcome.strategy]
    searches = sum(searches for searches, _, _ in efforts.values())
    calls = sum(searches * mean for searches, mean, _ in efforts.values())
    whole = sum(outcome.sizes.values(), Tally())
    return [
        outcome.strategy,
        *(_percent(share(tally.fitted, tally.arrived)) for tally in outcome.sizes.values()),
        _percent(npus_served(outcome)),
        _percent(share(whole.kept, whole.fitted)),
        f"{calls / searches:,.1f}" if searches else "-",
        f"{max(worst for _, _, worst in efforts.values()):,}" if efforts else "-",
    ]


def _orders(results: dict[tuple[Nodes, str], Result]) -> str:
    counts = list(next(iter(results.values())).outcomes[0].sizes)

    def rows() -> Iterator[Sequence[str]]:
        for (nodes, order), result in results.items():
            ours = _outcome(result, OURS)
            shares = (_percent(share(tally.fitted, tally.arrived)) for tally in ours.sizes.values())
            yield [nodes, order, *shares, _percent(npus_served(ours))]

    return markdown(("nodes", "order", *map(str, counts), "all NPUs"), rows())


def _outcome(result: Result, strategy: str) -> Outcome:
    return next(outcome for outcome in result.outcomes if outcome.strategy == strategy)


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f} %"
