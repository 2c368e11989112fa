"""A stack's configuration, read and written by pulumi itself. Values go in on standard input and are never shown."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class ConfigError(Exception):
    """pulumi would not do it. The message is pulumi's own, which names keys and no values. remedy: a sentence."""

    def __init__(self, said: str, remedy: str = "Put it right, and run the same again.") -> None:
        super().__init__(said)
        self.remedy = remedy


@dataclass(frozen=True)
class StackConfig:
    """Of one stack. pulumi: the program. project: the folder of Pulumi.yaml. environment: None for our own."""

    pulumi: Path
    project: Path
    stack: str
    environment: Mapping[str, str] | None = None

    def keys(self) -> set[str]:
        """Those that have a value, such as "secrets:kbs-tls-key"."""
        return set(json.loads(self._run(["config", "--json"]) or "{}"))

    def get(self, key: str) -> str:
        """The value in the clear."""
        return self._run(["config", "get", key]).removesuffix("\n")

    def set_secret(self, key: str, value: str) -> None:
        """Encrypt a value into the stack file."""
        # Not as an argument: a command line is for everyone on the machine to read.
        self._run(["config", "set", "--secret", key], value)

    def _run(self, words: Sequence[str], value: str = "") -> str:
        command = [str(self.pulumi), *words, "--stack", self.stack, "--non-interactive", "--color", "never"]
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            input=value,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            last = said[-1].removeprefix("error: ") if said else f"pulumi {words[0]} failed"
            if last.startswith("no stack named"):
                raise ConfigError(last, f"Make it first: pulumi stack init {self.stack}.")
            raise ConfigError(last)
        return done.stdout
