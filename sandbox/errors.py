"""The one way in which this room fails."""

from __future__ import annotations


class SandboxError(Exception):
    """Something the sandbox needs is missing, broken or in the way.

    `str()` is what a user reads, without a traceback: the reason, then the remedy, then (where there is one) the end
    of the log that proves it.
    """

    def __init__(self, reason: str, *, remedy: str, evidence: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        self.evidence = evidence
        text = f"{reason} {remedy}"
        if evidence:
            text += "\n" + "\n".join(f"  | {line}" for line in evidence.splitlines())
        super().__init__(text)


class NoGoError(SandboxError):
    """There is no Go, and something has to be built."""


class OldGoError(SandboxError):
    """The Go on PATH is older than the pinned programs need."""


class NoSpaceError(SandboxError):
    """The disk is, or would be, full."""


class NoRegistryError(SandboxError):
    """Go could not reach its module proxy."""


class BuildError(SandboxError):
    """A build ended with an error that is none of the better known ones."""


class StoppedError(SandboxError):
    """Someone asked for the work to stop before it was done."""


class BusyError(SandboxError):
    """Another run held a lock for longer than it was worth waiting."""


class DiedEarlyError(SandboxError):
    """A process ended before it was ready."""


class NotReadyError(SandboxError):
    """A process runs but did not answer in time."""


class EngineError(SandboxError):
    """A pulumi command ended with an error."""
