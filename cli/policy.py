"""`ringfence policy`: the catalogue of rules."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from cli.output import print_json, print_table
from policy.docs import markdown
from policy.rules.catalogue import RULES, of
from policy.rules.model import Environment, Group

app = typer.Typer(no_args_is_help=True, help="The rules of the policy pack and of `claims check`.")


@app.callback()
def policy() -> None:
    """The rules of the policy pack and of `claims check`."""


@app.command("rules")
def rules_(
    groups: Annotated[list[Group] | None, typer.Option("--group", help="Only these groups.")] = None,
    docs: Annotated[bool, typer.Option("--docs", help="Print docs/rules.md.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
) -> None:
    """List every rule: what complies, and how much it weighs."""
    if docs:
        typer.echo(markdown(), nl=False)
        return
    chosen = of(groups) if groups else RULES
    if as_json:
        fields = ("id", "title", "why", "remedy")
        print_json(
            [
                {**{field: getattr(rule, field) for field in fields}, "group": str(rule.group)}
                | {str(environment): str(rule.level(environment)) for environment in Environment}
                for rule in chosen
            ]
        )
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("rule", "group", "what complies", "dev", "prod"):
        table.add_column(column)
    for rule in chosen:
        table.add_row(rule.id, str(rule.group), rule.title, str(rule.dev), str(rule.prod))
    print_table(table)
