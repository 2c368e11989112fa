"""`ringfence simulate`: how often jobs fit while servers fill and empty, for each way of choosing NPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cli import simulate_real
from cli.fragmentation_page import SETTINGS, figures, put
from cli.output import MISUSED, err, fail, print_json, print_table
from cli.server import load as load_server
from topology.errors import TopologyError
from topology.model import Server
from topology.orders import ORDERS
from topology.simulate.compare import Result, data, npus_served, share, simulate_orders
from topology.simulate.compare import simulate as play
from topology.simulate.jobs import DEFAULT_MIX, read_mix
from topology.simulate.rules import Strictness
from topology.simulate.scene import Setting, check
from topology.simulate.strategies import Nodes

ALL = "all"
JOBS, REAL_JOBS = 10_000, 300
_MIX = ",".join(f"{count}:{size:g}" for count, size in DEFAULT_MIX.items())


def simulate(
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="A folder of servers/, its name, or a captured file.")
    ],
    servers: Annotated[int, typer.Option(help="How many such servers.")] = 20,
    jobs: Annotated[
        int | None,
        typer.Option(
            help=f"How many jobs arrive; the first tenth is not counted. Default: {JOBS:,}, with --real {REAL_JOBS}."
        ),
    ] = None,
    load: Annotated[float, typer.Option(help="NPUs asked for on average, as a share of all.")] = 0.8,
    mix: Annotated[str | None, typer.Option(help=f"SIZE:SHARE,…; for 16 NPUs {_MIX}, for fewer what fits.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.")] = 1,
    runs: Annotated[int, typer.Option(help="Runs, with seeds from --seed on, counted together.")] = 1,
    order: Annotated[str, typer.Option(help=f"Of devices in the slice: {', '.join(ORDERS)}; {ALL} compares.")] = "id",
    nodes: Annotated[
        Nodes, typer.Option(help="What the scheduler's other scores prefer: see docs/fragmentation.md.")
    ] = Nodes.RANDOM,
    promise: Annotated[
        Strictness, typer.Option(help="Which of a size's promises jobs ask for; widest is MindCluster's rule.")
    ] = Strictness.WIDEST,
    real: Annotated[
        bool,
        typer.Option(
            "--real",
            help="Play our templates' jobs on the real scheduler of a sandbox, about ten a second, and compare every "
            "decision with the model's; exit 1 where one differs.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the data instead of the table.")] = False,
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs", metavar="FILE", help="Write the figures of docs/fragmentation.md into it, with no table."
        ),
    ] = None,
) -> None:
    """Simulate jobs that come and go, and report how often those of each size fit."""
    if docs is not None:
        _write_docs(load_server(server), docs)
        return
    if order not in (*ORDERS, ALL):
        fail(f"--order {order}: there is no such order. Write one of {', '.join((*ORDERS, ALL))}.", MISUSED)
    if real and (order != "id" or runs != 1):
        fail("--real plays one run with devices by id. Leave --order and --runs out.", MISUSED)
    found = load_server(server)
    try:
        asked = read_mix(mix) if mix is not None else {c: s for c, s in DEFAULT_MIX.items() if c <= len(found.npus)}
        jobs = jobs if jobs is not None else REAL_JOBS if real else JOBS
        setting = Setting(servers, jobs, load, asked, seed, runs, "id" if order == ALL else order, nodes, promise)
        check(setting)
    except TopologyError as error:
        fail(str(error), MISUSED)
    try:
        if real:
            simulate_real.show(found, setting, as_json)
            return
        if order == ALL:
            results = simulate_orders(found, setting, tuple(ORDERS))
        else:
            # A line that comes and goes, so that a long run is seen to go on and a pipe gets nothing but the table.
            with err.status("simulating") as status:
                results = (play(found, setting, seen=lambda name: status.update(f"simulating {name}")),)
    except TopologyError as error:
        fail(f"{server}: {error}")
    if as_json:
        print_json([data(result) for result in results] if order == ALL else data(results[0]))
        return
    print_table(orders_table(results) if order == ALL else result_table(results[0]))
    for name, reason in results[0].left_out.items():
        err.print(f"{name} left out: {reason}", markup=False)


def _write_docs(server: Server, page: Path) -> None:
    """With settings of its own, so that everyone writes the same figures."""
    try:
        page.read_text(encoding="utf-8")
        with err.status("simulating for minutes"):
            put(page, figures(server, SETTINGS))
    except TopologyError as error:
        fail(f"{server.name}: {error}")
    except ValueError as error:
        fail(f"--docs {page}: {error}. Write the two lines where the figures belong.", MISUSED)
    except OSError as error:
        fail(f"--docs {page}: {error.strerror}. Name a page that can be written.", MISUSED)


def result_table(result: Result) -> Table:
    """A row for each strategy and size of job."""
    table = Table(box=None, pad_edge=False, header_style="bold", caption_justify="left")
    for column in (
        "strategy",
        "NPUs",
        "jobs",
        "fits when enough free",
        "could fit",
        "served",
        "could be",
        "kept",
        "mean calls",
        "worst",
    ):
        table.add_column(column, justify="left" if column == "strategy" else "right")
    for outcome in result.outcomes:
        label = outcome.strategy
        for count, tally in outcome.sizes.items():
            effort = result.efforts[outcome.strategy].get(count)
            table.add_row(
                label,
                str(count),
                str(tally.arrived),
                _percent(share(tally.fitted, tally.enough)),
                _percent(share(tally.possible_enough, tally.enough)),
                _percent(share(tally.fitted, tally.arrived)),
                _percent(share(tally.possible, tally.arrived)),
                _percent(share(tally.kept, tally.fitted)),
                f"{effort[1]:,.1f}" if effort else "-",
                f"{effort[2]:,}" if effort else "-",
            )
            label = ""
        table.add_row("", "all", "", "", "", _percent(npus_served(outcome)), "", "", "", "", style="dim")
    return table


def orders_table(results: tuple[Result, ...]) -> Table:
    """A row for each device order: of the jobs of each size, those that our templates served."""
    counts = list(results[0].outcomes[0].sizes)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("order")
    for count in counts:
        table.add_column(f"{count} NPUs", justify="right")
    table.add_column("all NPUs", justify="right")
    for result in results:
        for outcome in result.outcomes:
            cells = [_percent(share(tally.fitted, tally.arrived)) for tally in outcome.sizes.values()]
            table.add_row(result.setting.order, *cells, _percent(npus_served(outcome)))
    return table


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.1f} %"
