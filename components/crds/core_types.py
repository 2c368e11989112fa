"""The schemas of Kubernetes' own types that the custom resources embed, as an API server publishes them.

They are kept in core_types.json, so that a CRD needs no cluster to be written; a test holds the file to a real API
server, and writes it. Without descriptions: `kubectl explain pod.spec.volumes` has them, and with them the CRD of
CcRuntime would be three times as long.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "core_types.json"

PATHS = {
    "EnvVar": "io.k8s.api.core.v1.EnvVar",
    "LabelSelector": "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    "LocalObjectReference": "io.k8s.api.core.v1.LocalObjectReference",
    "Toleration": "io.k8s.api.core.v1.Toleration",
    "Volume": "io.k8s.api.core.v1.Volume",
    "VolumeMount": "io.k8s.api.core.v1.VolumeMount",
}
"""Kind → its name in the OpenAPI document of the core group."""

_CORE = "io.k8s.api.core.v1"
# cc-operator 0.13.0 is built with the types of Kubernetes 1.32; of what is younger its CRD knows nothing.
_YOUNGER: Mapping[str, frozenset[str]] = {
    f"{_CORE}.ClusterTrustBundleProjection": frozenset({"user"}),
    f"{_CORE}.ConfigMapVolumeSource": frozenset({"defaultUser"}),
    f"{_CORE}.DownwardAPIVolumeFile": frozenset({"user"}),
    f"{_CORE}.DownwardAPIVolumeSource": frozenset({"defaultUser"}),
    f"{_CORE}.EmptyDirVolumeSource": frozenset({"mode"}),
    f"{_CORE}.EnvVarSource": frozenset({"fileKeyRef"}),
    f"{_CORE}.KeyToPath": frozenset({"user"}),
    f"{_CORE}.ProjectedVolumeSource": frozenset({"defaultUser"}),
    f"{_CORE}.SecretVolumeSource": frozenset({"defaultUser"}),
    f"{_CORE}.ServiceAccountTokenProjection": frozenset({"user"}),
    f"{_CORE}.VolumeMount": frozenset({"bindMountOptions"}),
    f"{_CORE}.VolumeProjection": frozenset({"podCertificate"}),
}
# Defaults that the API server has and that CRD has not.
_WITHOUT_DEFAULT: Mapping[str, frozenset[str]] = {f"{_CORE}.AzureDiskVolumeSource": frozenset({"cachingMode", "kind"})}

_KEPT = ("type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
_INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_SPECIAL: Mapping[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"pattern": _QUANTITY, **_INT_OR_STRING},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    # The generator of the real CRDs says no more of it, so that labels in there are dropped.
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object"},
}


def core_type(kind: str) -> dict[str, Any]:
    """The structural schema of a kind of PATHS, for the caller to keep."""
    return copy.deepcopy(_kept()[kind])


@cache
def _kept() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def from_openapi(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Kind → structural schema. document: an API server's /openapi/v3/api/v1."""
    schemas = document["components"]["schemas"]
    return {kind: _named(path, schemas) for kind, path in PATHS.items()}


def written(schemas: Mapping[str, dict[str, Any]]) -> str:
    """The text of core_types.json."""
    return json.dumps(schemas, indent=1, sort_keys=True) + "\n"


def _named(name: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_SPECIAL[name]) if name in _SPECIAL else _inlined(name, schemas[name], schemas)


def _inlined(name: str, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """A CRD knows no references; every type comes with all that is in it."""
    for reference in (part["$ref"] for part in [schema, *schema.get("allOf", ())] if "$ref" in part):
        return _named(reference.rpartition("/")[2], schemas)
    found: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    required = set(schema.get("required", ()))
    properties = {
        key: _property(inner, schemas, default=key not in required | _WITHOUT_DEFAULT.get(name, frozenset()))
        for key, inner in schema.get("properties", {}).items()
        if key not in _YOUNGER.get(name, ())
    }
    if properties:
        found["properties"] = properties
    if required:
        found["required"] = sorted(required)
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = _inlined("", schema[key], schemas)
    return found


def _property(schema: Mapping[str, Any], schemas: Mapping[str, Any], *, default: bool) -> dict[str, Any]:
    found = _inlined("", schema, schemas)
    # Everything has a default there, if only the zero of Go; on a field that is demanded it would undo the demand.
    if default and schema.get("default", {}) != {}:
        found["default"] = schema["default"]
    return found
