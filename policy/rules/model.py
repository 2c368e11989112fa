"""What a rule is, what it finds, and the object it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from policy.rules.view import Path, View

if TYPE_CHECKING:
    from policy.rules.context import Context


class Level(StrEnum):
    """How much a finding weighs. error: stops a preview and a check. note: cannot be decided from what is known."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Environment(StrEnum):
    """Where it is to run. In dev nothing is stopped."""

    DEV = "dev"
    PROD = "prod"


class Group(StrEnum):
    """The groups of the catalogue; the value is the heading."""

    CLAIMS = "claims"
    DRIVER = "driver"
    CONFIDENTIAL = "confidential"
    GENERAL = "general"


@dataclass(frozen=True)
class Finding:
    """path: inside the object. says: what and why. instead: what to write.

    level: where it weighs less than its rule does.
    """

    path: Path
    says: str
    instead: str
    level: Level | None = None

    def __str__(self) -> str:
        return f"{self.says} {self.instead}"


@dataclass(frozen=True)
class Options:
    """What a Pulumi program says of a resource beside its inputs. A file says none of it.

    depends_on: the keys of all subjects that it waits for, directly or by way of others. provider: its name.
    """

    protect: bool = False
    delete_before_replace: bool = False
    provider: str | None = None
    depends_on: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Subject:
    """An object as the API would get it, UNKNOWN where a value is not known yet.

    key: tells it from others: a URN, or a place in a file. options: None where there are none to know of.
    """

    manifest: Mapping[str, Any]
    key: str = ""
    options: Options | None = None
    unknowns: list[Path] = field(default_factory=list)

    @property
    def view(self) -> View:
        return View(self.manifest, (), self.unknowns)

    @property
    def kind(self) -> str:
        return _text(self.manifest.get("kind"))

    @property
    def api_version(self) -> str:
        return _text(self.manifest.get("apiVersion"))

    @property
    def group(self) -> str:
        """Of the API; empty for the core."""
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""

    @property
    def name(self) -> str:
        """Empty where it has none yet."""
        return _text(self._metadata("name"))

    @property
    def namespace(self) -> str:
        """As written; empty where the context decides."""
        return _text(self._metadata("namespace"))

    def is_placed(self) -> bool:
        """Whether its name and namespace are known; what is not is noted."""
        return all(self.view.at("metadata", key).known() for key in ("name", "namespace"))

    def _metadata(self, key: str) -> Any:
        metadata = self.manifest.get("metadata")
        return metadata.get(key) if isinstance(metadata, Mapping) else None

    def __str__(self) -> str:
        name = self.name or "without a name"
        return f"{self.kind} {self.namespace}/{name}" if self.namespace else f"{self.kind} {name}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


Check = Callable[[Subject, "Context"], Iterable[Finding]]


@dataclass(frozen=True)
class Example:
    """text: objects as YAML; a key `pulumi` beside kind and metadata stands for options of the resource.

    servers, kubernetes: what is declared besides. Those of the profile openfuyao.
    """

    text: str
    servers: tuple[str, ...] = ()
    kubernetes: str | None = None


@dataclass(frozen=True)
class Rule:
    """One rule.

    id: its name everywhere; never changed once published. title: what complies. why: the fact behind it.
    remedy: what to do, in general. check: finds what breaks it; called for every object, it ignores other kinds.
    whole: whether it needs to see the other objects, so that a single one is not enough.
    dev, prod: how much its findings weigh.
    """

    id: str
    title: str
    why: str
    group: Group
    remedy: str
    check: Check
    complies: Example
    violates: Example
    dev: Level = Level.WARNING
    prod: Level = Level.ERROR
    whole: bool = False

    def level(self, environment: Environment) -> Level:
        return self.dev if environment is Environment.DEV else self.prod
