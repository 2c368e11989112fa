"""What of an object may be shown. Whatever is not listed here is reduced to a fingerprint when it is read.

Rules see secrets as plain text, and programs forget to mark them: a list of what to hide would always lack one place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Path = tuple[str, ...]
"""Steps into an object: keys, and the numbers of list items as text."""

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_MASKED = "[secret]"
# pulumi's stand-ins for values that are not known before `up`, one for each type.
_UNKNOWN = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)


@dataclass(frozen=True)
class Hidden:
    """A value that is not shown. Two are equal if the values were; nothing leads back to them."""

    fingerprint: str

    def __str__(self) -> str:
        return "not shown"


@dataclass(frozen=True)
class Unknown:
    """A value that pulumi does not know before `up`."""

    def __str__(self) -> str:
        return "known after up"


_METADATA = (
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.labels.*",
    "metadata.annotations.ringfence.dev/promise",
    "metadata.annotations.ringfence.dev/assumes",
)
_POD = (
    "containers.*.name",
    "containers.*.image",
    "containers.*.resources.**",
    "initContainers.*.name",
    "initContainers.*.image",
    "nodeSelector.*",
    "priorityClassName",
    "runtimeClassName",
)
_WORKLOAD = (
    *(f"spec.template.spec.{path}" for path in _POD),
    "spec.replicas",
    "spec.updateStrategy.**",
    "spec.strategy.**",
    "spec.selector.matchLabels.*",
    "spec.template.metadata.labels.*",
)
_DEVICE_REQUEST = ("name", "deviceClassName", "count", "allocationMode", "adminAccess", "selectors.*.cel.expression")
_REQUESTS = "spec.spec.devices.requests.*"

_KINDS: Mapping[str, tuple[str, ...]] = {
    "ResourceClaimTemplate": (
        f"{_REQUESTS}.name",
        *(f"{_REQUESTS}.exactly.{path}" for path in _DEVICE_REQUEST),
        *(f"{_REQUESTS}.firstAvailable.*.{path}" for path in _DEVICE_REQUEST),
        "spec.spec.devices.constraints.**",
    ),
    "DeviceClass": ("spec.selectors.*.cel.expression", "spec.extendedResourceName"),
    "Pod": tuple(f"spec.{path}" for path in _POD),
    "DaemonSet": _WORKLOAD,
    "Deployment": _WORKLOAD,
    "StatefulSet": _WORKLOAD,
    "Job": _WORKLOAD,
    "CcRuntime": (
        "spec.runtimeName",
        "spec.ccNodeSelector.matchLabels.*",
        "spec.config.payloadImage",
        "spec.config.preInstall.image",
        "spec.config.postUninstall.image",
        "spec.config.runtimeClasses.**",
        "spec.config.defaultRuntimeClassName",
    ),
    "KbsConfig": (
        "spec.kbsDeploymentType",
        "spec.kbsServiceType",
        "spec.kbsConfigMapName",
        "spec.kbsRvpsRefValuesConfigMapName",
        "spec.kbsResourcePolicyConfigMapName",
        "spec.kbsAttestationPolicyConfigMapName",
        "spec.KbsDeploymentSpec.replicas",
    ),
    "ResourceQuota": ("spec.hard.*",),
    "RuntimeClass": ("handler",),
    "CustomResourceDefinition": ("spec.group", "spec.names.kind", "spec.scope"),
    "ClusterRole": ("rules.**",),
    "Role": ("rules.**",),
    "Provider": ("context", "clusterIdentifier"),
}
_EVERYTHING = tuple(tuple(path.split(".", 2) if "ringfence.dev" in path else path.split(".")) for path in _METADATA)
_PATTERNS = {kind: (*_EVERYTHING, *(tuple(path.split(".")) for path in paths)) for kind, paths in _KINDS.items()}


def harmless(kind: str, path: Path) -> bool:
    """Whether the value there may be shown for a kind of object."""
    return any(_fits(pattern, path) for pattern in _PATTERNS.get(kind, _EVERYTHING))


def _fits(pattern: Path, path: Path) -> bool:
    if pattern and pattern[-1] == "**":
        pattern, path = pattern[:-1], path[: len(pattern) - 1]
    return len(pattern) == len(path) and all(wanted in ("*", step) for wanted, step in zip(pattern, path, strict=True))


def hide(kind: str, value: Any, secret: Sequence[Path] = (), path: Path = ()) -> Any:
    """The value with everything in it replaced by Hidden or Unknown that may not be shown.

    secret: paths that pulumi marks as secret on either side of the change, see `marked`; they win over all else.
    """
    if isinstance(value, str) and value in _UNKNOWN:
        return Unknown()
    if value == _MASKED or (isinstance(value, Mapping) and _SIGNATURE in value) or _within(path, secret):
        return _hidden(value)
    if isinstance(value, Mapping):
        return {str(key): hide(kind, item, secret, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list):
        return [hide(kind, item, secret, (*path, str(index))) for index, item in enumerate(value)]
    return value if harmless(kind, path) else _hidden(value)


def marked(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths that pulumi marks as secret. List items count as one: they move when one is put before them."""
    if value == _MASKED or (isinstance(value, Mapping) and _SIGNATURE in value):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from marked(item, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from marked(item, (*path, "*"))


def _within(path: Path, secret: Sequence[Path]) -> bool:
    return any(len(path) >= len(one) and all(a in (b, "*") for a, b in zip(one, path, strict=False)) for one in secret)


def _hidden(value: Any) -> Hidden:
    text = json.dumps(value, sort_keys=True, default=str)
    return Hidden(hashlib.sha256(text.encode()).hexdigest())
