"""Loopback ports: the kernel picks them, the sandbox remembers them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from sandbox import files

LOOPBACK = "127.0.0.1"


def pick(count: int) -> list[int]:
    """So many different free ports. Free now: whoever binds them must expect to be too late."""
    with ExitStack() as stack:
        # All held open until the last is found, or the kernel could name one twice.
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as attempt:
        # As servers do: connections that are only lingering from the last one are no obstacle.
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((LOOPBACK, port))
            attempt.listen()
        except OSError:
            return False
        return True


def load(path: Path, names: Iterable[str]) -> dict[str, int]:
    """The remembered ports, new ones for names that have none, saved. ValueError if the file is unreadable."""
    wanted = list(names)
    known = files.read_object(path) or {}
    if not all(isinstance(port, int) and 0 < port < 65536 for port in known.values()):
        raise ValueError(f"{path} holds something else than ports")
    missing = [name for name in wanted if name not in known]
    ports = {name: int(known[name]) for name in wanted if name in known}
    while missing:
        fresh = dict(zip(missing, pick(len(missing)), strict=True))
        if not set(fresh.values()) & set(ports.values()):
            ports |= fresh
            save(path, ports)
            break
    return ports


def save(path: Path, ports: dict[str, int]) -> None:
    """Remember them."""
    files.write_whole(path, json.dumps(ports, indent=1))
