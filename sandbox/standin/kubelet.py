"""Pods that kwok leaves to us, because it would run them at once: images that cannot be pulled, containers that fail.

They bear the annotation by which kwok knows to keep away (sandbox.parts), given to them with their template.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal

from sandbox.standin import kube
from sandbox.standin.kube import Kube, Object

OURS = {"kwok.x-k8s.io/status": "custom"}

_READY = ("Initialized", "Ready", "ContainersReady")

State = Literal["Running", "ContainerCreating", "CrashLoopBackOff", "ErrImagePull"]


def take(template: Object, *, take: bool) -> Object:
    """The pod template, its pods left to us or to kwok."""
    kept = {key: value for key, value in template["metadata"].get("annotations", {}).items() if key not in OURS} | (
        OURS if take else {}
    )
    metadata = {key: value for key, value in template["metadata"].items() if key != "annotations"}
    return template | {"metadata": metadata | ({"annotations": kept} if kept else {})}


def cannot_pull(spec: Object, unpullable: Collection[str]) -> bool:
    """Whether a pod like this has an image that no node can pull."""
    return any(container["image"] in unpullable for container in spec["containers"])


def play(api: Kube, namespace: str, state: Callable[[Object], State]) -> None:
    """Bring the status of our pods in the namespace to what `state` says of each, and remove those that are deleted."""
    for pod in api.all(kube.pods(namespace)):
        metadata = pod["metadata"]
        if not OURS.items() <= metadata.get("annotations", {}).items():
            continue
        if "deletionTimestamp" in metadata:
            api.delete(kube.pods(namespace), f"{metadata['name']}?gracePeriodSeconds=0")
        elif pod["spec"].get("nodeName"):
            _write(api, pod, state(pod))


def _write(api: Kube, pod: Object, state: State) -> None:
    runs = state == "Running"
    since = pod["metadata"]["creationTimestamp"]
    statuses = [_container(container, state, since) for container in pod["spec"]["containers"]]
    known = [
        (each["name"], each.get("ready"), each.get("state")) for each in pod["status"].get("containerStatuses", [])
    ]
    if known == [(each["name"], each["ready"], each["state"]) for each in statuses]:
        return
    condition = "True" if runs else "False"
    path = f"{kube.pods(pod['metadata']['namespace'])}/{pod['metadata']['name']}/status"
    others = [each for each in pod["status"].get("conditions", []) if each["type"] not in _READY]
    conditions = [*others, *({"type": kind, "status": condition} for kind in _READY)]
    phase = "Running" if runs or state == "CrashLoopBackOff" else "Pending"
    api.merge(path, {"status": {"phase": phase, "conditions": conditions, "containerStatuses": statuses}})


def _container(container: Object, state: State, since: str) -> dict[str, Any]:
    runs = state == "Running"
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": runs,
        "restartCount": 0,
        "state": {"running": {"startedAt": since}} if runs else {"waiting": {"reason": state}},
    }
