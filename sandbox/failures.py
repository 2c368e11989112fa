"""What the log of a failed build says about why, in words a user can act on."""

from __future__ import annotations

import re
from pathlib import Path

from sandbox.errors import BuildError, NoRegistryError, NoSpaceError, OldGoError, SandboxError

LAST_LINES = 12

_SPACE = re.compile(r"no space left on device|disk quota exceeded|ENOSPC", re.IGNORECASE)
_OLD_GO = re.compile(
    r"requires go >= |toolchain not available|invalid go version|unknown directive: (?:tool|toolchain)|download go1\."
)
_REGISTRY = re.compile(
    r"dial (?:tcp|udp)|lookup \S+(?: on \S+)?: |no such host|proxyconnect|i/o timeout|TLS handshake timeout"
    r"|connection re(?:fused|set)|network is unreachable|module lookup disabled by GOPROXY=off"
    r"|: (?:403 Forbidden|404 Not Found|410 Gone|50\d [A-Z][\w ]+)|x509: |unrecognized import path",
)
_MEMORY = re.compile(r"signal: killed|cannot allocate memory|out of memory")


def tail(log: Path, lines: int = LAST_LINES) -> str:
    """The last lines of a log; empty if there is none. Only its end is read, however long it is."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])


def of_build(program: str, log: Path) -> SandboxError:
    """The error for a failed build, from its log."""
    text = tail(log, 400)
    evidence = tail(log)
    where = f"The whole log: {log}"
    if _SPACE.search(text):
        return NoSpaceError(
            f"Building {program} ran out of disk space.",
            remedy=f"Free some, or point RINGFENCE_CACHE, GOCACHE and GOMODCACHE at a larger disk. {where}",
            evidence=evidence,
        )
    if _OLD_GO.search(text):
        return OldGoError(
            f"Building {program} needs a newer Go than the one on PATH.",
            remedy=f"Install the Go named below or newer. {where}",
            evidence=evidence,
        )
    if _REGISTRY.search(text):
        return NoRegistryError(
            f"Building {program} needs Go modules, and the module proxy did not serve them.",
            remedy=f"Check the network and `go env GOPROXY GONOSUMDB`, then run this again: "
            f"what was downloaded is kept. {where}",
            evidence=evidence,
        )
    if _MEMORY.search(text):
        return BuildError(
            f"Building {program} was killed for want of memory.",
            remedy=f"Close what you can (4 GiB free will do) or set GOFLAGS=-p=1, then run this again. {where}",
            evidence=evidence,
        )
    return BuildError(f"Building {program} failed.", remedy=f"The end of the log says why. {where}", evidence=evidence)
