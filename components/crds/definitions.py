"""The two CustomResourceDefinitions, as plain manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from components.crds.schema import structural
from components.labels import MANAGED
from settings.crs.cc_runtime import CcRuntime
from settings.crs.fields import Fields
from settings.crs.kbs_config import KbsConfig

GROUP = "confidentialcontainers.org"


def ccruntimes() -> dict[str, Any]:
    """The CRD of cc-operator 0.13.0 to 0.17.0, which never changed it."""
    return _definition(CcRuntime, "ccruntimes", "v1beta1", "Cluster", short_names=["ccr"])


def kbsconfigs() -> dict[str, Any]:
    """The CRD of trustee-operator 0.5.0."""
    return _definition(KbsConfig, "kbsconfigs", "v1alpha1", "Namespaced")


def _definition(
    model: type[Fields],
    plural: str,
    version: str,
    scope: Literal["Cluster", "Namespaced"],
    short_names: Sequence[str] = (),
) -> dict[str, Any]:
    kind = model.__name__
    names: dict[str, Any] = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    if short_names:
        names["shortNames"] = list(short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}", "labels": dict(MANAGED)},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": scope,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _whole(structural(model))},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def _whole(schema: dict[str, Any]) -> dict[str, Any]:
    """With the three fields that every object has, and about which a CRD may say no more."""
    common = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return schema | {"properties": common | schema["properties"]}
