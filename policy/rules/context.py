"""What surrounds an object that a rule looks at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from policy.rules.find import CLASS, is_v1
from policy.rules.fleet import Fleet
from policy.rules.model import Subject
from settings.capabilities import Capabilities

DRIVER_NAMESPACE, DRIVER_WORKLOAD = "npu-dra-driver", "npu-dra-plugin"


@dataclass(frozen=True)
class Allowed:
    """What is let through because someone has listed it.

    host_paths: paths of the host, each with all below it. privileged: namespace/workload. worst_calls: of the
    scheduler's search for one claim on one node. plain: namespace/name/key of values that only look like a secret.
    """

    host_paths: tuple[str, ...] = (
        "/var/lib/kubelet/plugins",
        "/var/lib/kubelet/plugins_registry",
        "/var/run/cdi",
        "/usr/local/Ascend/driver",
        "/usr/local/dcmi",
        "/usr/local/bin/npu-smi",
    )
    privileged: tuple[str, ...] = (f"{DRIVER_NAMESPACE}/{DRIVER_WORKLOAD}",)
    worst_calls: int = 200
    plain: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """objects: all that were seen, the one that is judged too. fleet: the devices that are known.

    cluster: its version and gates, None where nobody said. namespace: where objects go that name none.
    """

    objects: tuple[Subject, ...] = ()
    fleet: Fleet = field(default_factory=Fleet)
    cluster: Capabilities | None = None
    allowed: Allowed = field(default_factory=Allowed)
    namespace: str = "default"

    def of(self, *kinds: str) -> Iterable[Subject]:
        """The objects of these kinds."""
        if len(kinds) == 1:
            return self._by_kind.get(kinds[0], ())
        return (one for one in self.objects if one.kind in kinds)

    @cached_property
    def _by_kind(self) -> Mapping[str, list[Subject]]:
        # A dump of a cluster has thousands of pods, and each asks for its claims.
        found: dict[str, list[Subject]] = {}
        for one in self.objects:
            found.setdefault(one.kind, []).append(one)
        return found

    def named(self, kind: str, name: str) -> Mapping[str, Subject]:
        """The objects of this kind and name, by namespace; the first of each."""
        return self._by_name.get((kind, name), {})

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Mapping[str, Subject]]:
        found: dict[tuple[str, str], dict[str, Subject]] = {}
        for one in self.objects:
            if one.name:
                found.setdefault((one.kind, one.name), {}).setdefault(self.namespace_of(one), one)
        return found

    def all_placed(self, *kinds: str) -> bool:
        """Whether the names and namespaces of all objects of these kinds are known: else one may be what is missed."""
        return self._unplaced.isdisjoint(kinds)

    @cached_property
    def _unplaced(self) -> frozenset[str]:
        return frozenset(one.kind for one in self.objects if not one.is_placed())

    def namespace_of(self, subject: Subject) -> str:
        return subject.namespace or self.namespace

    @cached_property
    def classes(self) -> Mapping[str, tuple[str, ...] | None]:
        """DeviceClass → its CEL expressions, of the objects and of the fleet; None where one is not known yet."""
        found: dict[str, tuple[str, ...] | None] = {one.name: one.selectors for one in self.fleet.world.classes}
        for subject in self.objects:
            if is_v1(subject, CLASS) and subject.name:
                plain = Subject(subject.manifest).view.at("spec").plain()
                found[subject.name] = _expressions(plain)
        return found


def _expressions(spec: object) -> tuple[str, ...] | None:
    if not isinstance(spec, Mapping):
        return None
    listed = spec.get("selectors")
    found = []
    for selector in listed if isinstance(listed, list) else ():
        cel = selector.get("cel") if isinstance(selector, Mapping) else None
        expression = cel.get("expression") if isinstance(cel, Mapping) else None
        if not isinstance(expression, str):
            return None
        found.append(expression)
    return tuple(found)
