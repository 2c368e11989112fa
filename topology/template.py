"""A claim template as data: what is deployed, and the promise its name makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topology.promise import Promise

API_VERSION = "resource.k8s.io/v1"


@dataclass(frozen=True)
class Template:
    """One ResourceClaimTemplate.

    name: npu-<server>-<count>[-<shape>], a DNS label.
    spec: the ResourceClaimSpec ({"devices": {...}}), with the server's defaults written out so that nothing drifts.
    promises: request (or request/subrequest) name → what the NPUs it yields keep. A strict template has one entry
      under "", for the claim as a whole.
    """

    name: str
    server: str
    count: int
    shape: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    promises: Mapping[str, Promise]

    def manifest(self, namespace: str | None = None) -> dict[str, Any]:
        """The object as `kubectl apply` takes it; without a namespace it goes where the context points."""
        metadata: dict[str, Any] = {"name": self.name}
        if namespace is not None:
            metadata["namespace"] = namespace
        metadata["labels"] = dict(self.labels)
        metadata["annotations"] = dict(self.annotations)
        return {
            "apiVersion": API_VERSION,
            "kind": "ResourceClaimTemplate",
            "metadata": metadata,
            "spec": {"spec": dict(self.spec)},
        }
