"""`ringfence preview-report`: what `pulumi preview --json` says, as one Markdown comment for a pull request."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli.output import MISUSED, fail
from cli.topo import matrix, summary
from policy.lint.text import decoded
from policy.preview.evidence import Evidence
from policy.preview.reading import PreviewError, read_preview
from policy.preview.report import LIMIT, MARKER, Section, ready_made, render, section
from settings.servers import SHIPPED
from topology.model import Server

_LARGEST = 256 * 2**20
_STDIN = "-"


def preview_report(
    previews: Annotated[
        list[str],
        typer.Argument(
            metavar="STACK=FILE…", help="A stack and its preview; - is standard input, a .md a report made."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; else on standard output.")
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A checkout of what is merged into: its servers/ are how wirings were before."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1024, help="Characters, at most. GitHub takes no more than this.")] = LIMIT,
) -> None:
    """Report what `pulumi preview --json` would do and what that means, as one comment for a pull request.

    A preview in events, as PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true makes it, has the findings of policy packs too.
    """
    if base is not None and not (base / "servers").is_dir():
        fail(f"--base {base}: there is no servers/ in it. Name a checkout of the branch that is merged into.", MISUSED)
    evidence = Evidence(SHIPPED, base / "servers" if base is not None else None)
    sections: dict[str, Section] = {}
    for named in previews:
        stack, _, file = named.partition("=")
        if not stack or not file:
            fail(f"{named}: is not STACK=FILE. Write for instance prod=preview.json.", MISUSED)
        if stack in sections:
            fail(f"{named}: stack {stack} is there twice. Give each stack one preview.", MISUSED)
        sections[stack] = _section(stack, file, evidence)
    text = render(list(sections.values()), limit)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"--out {out}: {error.strerror}. Name a file that can be written.", MISUSED)


def _section(stack: str, file: str, evidence: Evidence) -> Section:
    text = _read(file)
    if text.startswith(MARKER):
        return ready_made(stack, text)
    try:
        return section(stack, read_preview(text), evidence, _picture)
    except PreviewError as error:
        fail(f"{file} {error}", MISUSED)


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read(_LARGEST + 1) if file == _STDIN else Path(file).read_bytes()
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}. Name what `pulumi preview --json` was kept in.", MISUSED)
    if len(data) > _LARGEST:
        fail(f"{file} is larger than any preview. Name what `pulumi preview --json` was kept in.", MISUSED)
    try:
        return decoded(data)
    except UnicodeDecodeError:
        return data.decode("utf-8", errors="replace")


def _picture(server: Server) -> str:
    """The matrix and the groups, as `ringfence topo show` prints them."""
    page = Console(file=io.StringIO(), width=200, color_system=None, highlight=False)
    with page.capture() as captured:
        page.print(matrix(server), crop=False)
        page.print(summary(server), crop=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
