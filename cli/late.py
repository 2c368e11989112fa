"""Groups whose commands are imported when they are asked for: all together take longer than most need to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from cli.start import importing


@dataclass(frozen=True)
class Late:
    """where: module:name of a function or a Typer. help: how its own help begins, which `--help` above it lists."""

    where: str
    help: str

    def load(self, name: str) -> Any:
        """The command itself."""
        module, _, attribute = self.where.partition(":")
        with importing():
            found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            made: Any = get_group(found)
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(name)(found)
            made = get_command(alone)
        made.name = name
        return made


def group(commands: Mapping[str, Late]) -> type[TyperGroup]:
    """The class for a Typer that has these commands, in this order."""

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            # What is listed of a command; it is never run.
            self.commands = {name: TyperCommand(name, help=late.help) for name, late in commands.items()}

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, _, rest = super().resolve_command(ctx, args)
            return name, commands[cast("str", name)].load(cast("str", name)), rest

    return Group
