"""SERVER as people name it: a folder of `servers/`, its name, or a single captured text file."""

from __future__ import annotations

import re
from pathlib import Path

from topology.capture import read_server
from topology.errors import TopologyError
from topology.model import Server

SHIPPED = Path(__file__).resolve().parents[1] / "servers"
TOPO, INFO, PCI, ASSUMED = "topo.txt", "info.txt", "pci.txt", "assumed.yaml"
PROOFS = "proofs.json"

STDIN = "-"

_LARGEST = 4 * 2**20


class ServerNotFound(Exception):  # noqa: N818 - says what is the case
    """There is no such server, or its files cannot be read. The message names the path and the remedy."""


def find_server(server: str, root: Path = SHIPPED, *, info: Path | None = None, pci: Path | None = None) -> Server:
    """The server. ServerNotFound where there is none, TopologyError where its text cannot be trusted.

    info, pci: companion captures to use in place of those of the folder.
    """
    path = _locate(server, root)
    if path.is_dir():
        name = path.resolve().name
        folder: Path | None = path
        topo = path / TOPO
    else:
        name, folder, topo = path.stem, None, path
    name = _check_name(name, strict=folder is not None)
    text = _read(topo)
    if text is None:
        raise ServerNotFound(
            f"{path} has no {TOPO}. Keep there what `npu-smi info -t topo` prints; see docs/capture.md."
        )
    there = [folder / file if folder is not None else None for file in (INFO, PCI, ASSUMED)]
    companions = [_read(path) if path is not None else None for path in (info or there[0], pci or there[1], there[2])]
    for named, found in ((info, companions[0]), (pci, companions[1])):
        if named is not None and found is None:
            raise ServerNotFound(f"{named} is no file. Name the one with that capture.")
    return read_server(name, text, *companions)


def proofs_of(server: str, root: Path = SHIPPED) -> Path | None:
    """Where the server's proofs are kept: beside its captures; None for a single file, which has no such place."""
    path = _locate(server, root)
    return path / PROOFS if path.is_dir() else None


def shipped_names(root: Path = SHIPPED) -> list[str]:
    """The servers of servers/, by name."""
    return sorted(folder.name for folder in root.iterdir() if (folder / TOPO).exists()) if root.is_dir() else []


def _locate(server: str, root: Path) -> Path:
    if server == STDIN:
        return Path("/dev/stdin")
    for path in (Path(server), root / server):
        # "box16" in a folder that has a file of that name means the file, as in a shell.
        if server and path.exists():
            return path
    known = ", ".join(shipped_names(root)) or "none"
    raise ServerNotFound(f"{server!r} is no file, no folder and no server of servers/. Those are: {known}.")


def _check_name(name: str, *, strict: bool) -> str:
    """As part of a template's name. A file may be called anything; a folder is named on purpose."""
    if re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name):
        return name
    if strict:
        raise ServerNotFound(
            f"The folder name {name!r} cannot be part of a template's name. "
            "Use up to 40 lower-case letters, digits and dashes."
        )
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "server"


def _read(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        if path.stat().st_size > _LARGEST:
            raise ServerNotFound(f"{path} is larger than any capture. Name the file with npu-smi's output.")
        data = path.read_bytes()
    except OSError as error:
        raise ServerNotFound(f"{path} cannot be read: {error.strerror}.") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data:
        raise TopologyError(f"{path.name} is no text.", remedy="Name the file with npu-smi's output.")
    return data.decode("utf-8", errors="replace")
