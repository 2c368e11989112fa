"""The one way in which this room refuses a stack file: a line for every problem, with key, reason and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """key: dotted path as in the stack file, e.g. "ringfence:ring.driver.image". reason, remedy: sentences."""

    key: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.key}: {self.reason} {self.remedy}"


class SettingsError(Exception):
    """A stack file that cannot be deployed. source: its name, e.g. "Pulumi.dev.yaml"."""

    def __init__(self, problems: Sequence[Problem], source: str) -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__("\n  ".join([f"{source} cannot be used:", *map(str, problems)]))
