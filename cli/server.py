"""SERVER on the command line: a folder of `servers/`, its name, or a single captured text file."""

from __future__ import annotations

from pathlib import Path

from cli.output import MISUSED, WRONG, fail
from settings.servers import ServerNotFound, find_server
from topology.errors import TopologyError
from topology.model import Server


def load(server: str, info: Path | None = None, pci: Path | None = None) -> Server:
    """The server, or one clear error: exit 2 where there is none, 1 where its text cannot be trusted."""
    try:
        return find_server(server, info=info, pci=pci)
    except ServerNotFound as error:
        fail(str(error), MISUSED)
    except TopologyError as error:
        fail(f"{server}: {error}", WRONG)
