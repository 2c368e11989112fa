"""`secrets:`: the values that only the engine may read. A stack file's settings never hold one, they say its name.

So no message of this room can quote one: what judges the settings has never seen it, and what judges a secret says its
name and what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from pulumi.runtime.config import CONFIG, is_config_secret
from pydantic import BeforeValidator

from settings.errors import Problem
from settings.section import refused
from settings.values import DNS_LABEL

NAMESPACE = "secrets"


@dataclass(frozen=True)
class Secret:
    """A value that is not to be shown. Equal only to one of the same value; printed, it is its name."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"

    __str__ = __repr__


def _name(value: Any) -> str:
    if not isinstance(value, str) or not DNS_LABEL.fullmatch(value):
        # Not quoted: who writes something else here has most likely written the secret itself.
        raise refused(
            "what is written there cannot be the name of a secret, and is not repeated in case it is one.",
            "Write a name of up to 63 lower-case letters, digits and dashes; its value belongs under secrets:.",
        )
    return value


SecretName = Annotated[str, BeforeValidator(_name)]
"""The name of a value under `secrets:` in the stack file."""


def key_of(name: str) -> str:
    """As in the stack file: "kbs-tls-key" → "secrets:kbs-tls-key"."""
    return f"{NAMESPACE}:{name}"


def remedy_for(name: str) -> str:
    """How the value gets there. On standard input, since a command line is for everyone on the machine to read."""
    return f"Give it on standard input: `pulumi config set --secret {key_of(name)} < FILE`."


def load(
    names: Iterable[str], remedies: Mapping[str, str] = MappingProxyType({})
) -> tuple[Mapping[str, Secret], Sequence[Problem]]:
    """From the configuration of the program that runs: those that are there, and a problem for each other one.

    remedies: name → how it gets there, for those that are not given by hand.
    """
    given = CONFIG.get()
    asked = list(names)
    return _pick(asked, {name: (given.get(key_of(name)), is_config_secret(key_of(name))) for name in asked}, remedies)


def names_in(config: Mapping[str, Any], names: Iterable[str]) -> Sequence[Problem]:
    """From a stack file, where the values are encrypted: a problem for each that is missing or lies there in clear."""
    asked = list(names)
    found = {name: config.get(key_of(name)) for name in asked}
    kept = {
        name: ("", True) if isinstance(value, Mapping) and set(value) == {"secure"} else (value, False)
        for name, value in found.items()
    }
    return _pick(asked, kept)[1]


def _pick(
    names: Iterable[str], given: Mapping[str, tuple[Any, bool]], remedies: Mapping[str, str] = MappingProxyType({})
) -> tuple[Mapping[str, Secret], Sequence[Problem]]:
    found: dict[str, Secret] = {}
    problems: list[Problem] = []
    for name in dict.fromkeys(names):
        value, encrypted = given.get(name, (None, False))
        if value is None:
            problems.append(Problem(key_of(name), "is missing.", remedies.get(name) or remedy_for(name)))
        elif not encrypted:
            reason = "lies in the stack file in clear, for everyone who can read the repository."
            remedy = remedies.get(name) or remedy_for(name)
            problems.append(Problem(key_of(name), reason, f"Take it for known, make a new one. {remedy}"))
        else:
            found[name] = Secret(name, str(value))
    return found, problems
