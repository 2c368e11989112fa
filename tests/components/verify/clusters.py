"""Snapshots of clusters to judge: objects as an API server has them, as few fields as are looked at."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from components.verify.finding import Finding
from components.verify.snapshot import Hidden, Key, Object, Snapshot

NAMESPACE = "operator"


def thing(kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"kind": kind, "metadata": metadata | fields.pop("metadata", {}), **fields}


def secret(name: str, files: Mapping[str, bytes], namespace: str = NAMESPACE) -> dict[str, Any]:
    data = {key: base64.b64encode(value).decode() for key, value in files.items()}
    return thing("Secret", name, namespace, data=data)


def deployment(
    name: str,
    images: Mapping[str, str],
    namespace: str = NAMESPACE,
    *,
    replicas: int = 1,
    ready: int = 1,
    available: str = "True",
) -> dict[str, Any]:
    containers = [{"name": container, "image": image} for container, image in images.items()]
    return thing(
        "Deployment",
        name,
        namespace,
        spec={"replicas": replicas, "template": {"spec": {"containers": containers}}},
        status={
            "readyReplicas": ready,
            "updatedReplicas": replicas,
            "conditions": [{"type": "Available", "status": available}],
        },
    )


def snapshot(*objects: Object, version: str = "v1.36.1", hidden: Sequence[Key] = ()) -> Snapshot:
    lists: dict[Key, Any] = {}
    for one in objects:
        key = (one["kind"], one["metadata"].get("namespace", ""))
        lists.setdefault(key, []).append(one)
    return Snapshot(version, lists | {key: Hidden("the API server answers 403") for key in hidden})


def lines(findings: Sequence[Finding], check: str) -> list[str]:
    """What is said of one check, as `state: what`."""
    return [f"{one.state}: {one.what}" for one in findings if one.check == check]
