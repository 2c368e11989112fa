"""`ringfence policy`: the catalogue of rules, and those that an API server can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.table import Table

from cli.output import MISUSED, fail, out, print_json, print_table
from policy.admission.objects import Action, manifests, policies
from policy.rules.catalogue import RULES, of
from policy.rules.model import Environment, Group
from topology.profiles import PROFILES, profile

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
        # The options of the pack, and so the whole of the settings, are in it.
        from policy.docs import markdown

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


@app.command("admission")
def admission(
    out_dir: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="One file for each policy.")] = None,
    action: Annotated[Action, typer.Option("--action", help="What a broken rule does.")] = Action.WARN,
    driver: Annotated[str, typer.Option("--profile", help=f"Driver profile: {', '.join(PROFILES)}.")] = "openfuyao",
) -> None:
    """Print the rules on claims that an API server can hold, as ValidatingAdmissionPolicies with their bindings."""
    if driver not in PROFILES:
        fail(f"--profile {driver}: there is no such driver profile. Write one of {', '.join(PROFILES)}.", MISUSED)
    made = manifests(policies(profile(driver)), action)
    if out_dir is None:
        typer.echo(yaml.safe_dump_all(made, sort_keys=False, width=120), nl=False)
        return
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        for policy_, binding in zip(made[::2], made[1::2], strict=True):
            text = yaml.safe_dump_all([policy_, binding], sort_keys=False, width=120)
            (out_dir / f"{policy_['metadata']['name']}.yaml").write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"--out {out_dir}: {error.strerror}. Name a folder that can be written to.", MISUSED)
    out.print(f"{len(made) // 2} policies in {out_dir}", markup=False)
