"""`ringfence fence verify`: whether a live stack of confidential containers is what was declared, and works."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from rich.text import Text

from cli.output import DONE, MISUSED, WRONG, fail, out, print_json
from components.verify.finding import State
from components.verify.verification import Asked, Group
from components.verify.verification import verify as judged
from sandbox import places
from settings.errors import SettingsError
from settings.load import ANY_DAY, read
from settings.stack import Stack

PAUSE = 5.0
"""Seconds between two looks."""

_COLOURS: Mapping[State, str] = {"ok": "green", "failed": "bold red", "unknown": "yellow"}


def verify(
    stack: Annotated[str, typer.Option("--stack", help="The stack that is deployed.")],
    ca: Annotated[
        Path | None, typer.Option("--ca", help="The CA that guests trust, as ringfence fence keys wrote it.")
    ] = None,
    kbs_at: Annotated[
        str | None,
        typer.Option("--kbs-at", metavar="HOST:PORT", help="Ask the key broker there, for instance a port-forward."),
    ] = None,
    wait: Annotated[int, typer.Option("--wait", min=0, help="Look again for so many seconds while it fails.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    project: Annotated[Path, typer.Option(help="The folder of Pulumi.yaml.")] = places.CHECKOUT,
) -> None:
    """Compare both clusters with the stack file, and knock at the key broker. Nothing is changed, no secret shown."""
    try:
        # Whatever has expired since the stack was deployed is to be found and not to be refused.
        found = read(project / f"Pulumi.{stack}.yaml", ANY_DAY)
    except SettingsError as error:
        fail(str(error), MISUSED)
    if found.fence is None:
        fail(f"stack {stack} has no ringfence:fence, so there is nothing to verify.", MISUSED)
    groups = _look(found, _text(ca), _place(kbs_at), time.monotonic() + wait)
    if as_json:
        print_json(_plain(groups))
    else:
        _print(groups)
    raise typer.Exit(WRONG if _fails(groups) else DONE)


def _look(stack: Stack, ca: str | None, kbs_at: tuple[str, int] | None, deadline: float) -> list[Group]:
    assert stack.fence is not None
    while True:
        groups = judged(stack.fence, stack.cluster, Asked(datetime.now(UTC), ca, kbs_at))
        if not _fails(groups) or time.monotonic() + PAUSE > deadline:
            return groups
        time.sleep(PAUSE)


def _fails(groups: Sequence[Group]) -> bool:
    return any(one.state == "failed" for group in groups for one in group.findings)


def _text(ca: Path | None) -> str | None:
    if ca is None:
        return None
    try:
        found = x509.load_pem_x509_certificates(ca.read_bytes())
    except (OSError, ValueError):
        fail(f"{ca} is no certificate in PEM. Name the file that ringfence fence keys wrote, kbs-ca.pem.", MISUSED)
    # Nothing besides: a bundle has names in many languages, and the library takes ASCII only.
    return "".join(one.public_bytes(Encoding.PEM).decode() for one in found)


def _place(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        fail(f"{text} is not HOST:PORT, such as 127.0.0.1:8080.", MISUSED)
    return host, int(port)


def _print(groups: Sequence[Group]) -> None:
    for group in groups:
        out.print(Text(group.title, style="bold"))
        for one in group.findings:
            out.print(Text(f"  {one.state:<8}", style=_COLOURS[one.state]), Text(f"{one.check}: {one.what}"), sep="")
            if one.remedy:
                out.print(Text(f"          → {one.remedy}"))
    states = [one.state for group in groups for one in group.findings]
    counted = ", ".join(f"{states.count(state)} {state}" for state in _COLOURS)
    out.print(f"\n{counted}")


def _plain(groups: Sequence[Group]) -> object:
    return {
        "failed": _fails(groups),
        "findings": [
            {"where": group.title, "check": one.check, "state": one.state, "what": one.what, "remedy": one.remedy}
            for group in groups
            for one in group.findings
        ],
    }
