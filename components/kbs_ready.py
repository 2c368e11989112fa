"""Whether the KBS is available, judged by its Deployment: its operator v0.5.0 never writes the status of a KbsConfig.

The judgement is plain data in, a sentence out, and knows no Pulumi: a deployment waits by it, a check asks it once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

DEPLOYMENT = "trustee-deployment"
PAUSE = 2.0
"""Seconds between two looks."""

Read = Callable[[], Mapping[str, Any] | None]
"""Gives the Deployment as the API server has it, None where there is none. Unseen where it cannot be read."""


class Unseen(Exception):  # noqa: N818 - says what is the case
    """The cluster cannot be asked right now. The message says why."""


class NotReady(Exception):  # noqa: N818 - says what is the case
    """The KBS was not available in time. The message says what was last seen and where to look."""


@dataclass(frozen=True)
class Expected:
    """mounts: names of the ConfigMaps and Secrets that the pods mount. replicas: how many pods."""

    mounts: frozenset[str]
    replicas: int = 1


def missing(deployment: Mapping[str, Any] | None, expected: Expected) -> str | None:
    """What is missing until the KBS is available as declared, None if nothing is.

    A Deployment that was available before a change is so still, until the operator has looked: so what its pods mount
    is compared as well.
    """
    if deployment is None:
        return f"there is no Deployment {DEPLOYMENT}"
    spec, status = deployment.get("spec", {}), deployment.get("status", {})
    lacking = expected.mounts - _mounted(spec)
    if lacking:
        return f"its pods do not mount {', '.join(sorted(lacking))} yet"
    if status.get("observedGeneration", 0) < deployment.get("metadata", {}).get("generation", 0):
        return "its change has not been seen by the Deployment controller"
    if spec.get("replicas", 1) != expected.replicas:
        return f"it has {spec.get('replicas', 1)} replicas instead of {expected.replicas}"
    conditions = {one["type"]: one for one in status.get("conditions", [])}
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if updated >= expected.replicas and available >= expected.replicas and status.get("replicas", 0) == updated:
        if conditions.get("Available", {}).get("status") == "True":
            return None
        return "it is not Available"
    progress = conditions.get("Progressing", {})
    stuck = f"; {progress.get('reason')}" if progress.get("status") == "False" else ""
    return f"{min(updated, available)} of {expected.replicas} pods are up to date and available{stuck}"


def until_ready(
    read: Read,
    expected: Expected,
    namespace: str,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the KBS is available. NotReady after `timeout` seconds."""
    deadline = clock() + timeout
    while (lacking := _look(read, expected)) is not None:
        if clock() >= deadline:
            raise NotReady(f"The KBS was not available after {timeout:.0f} s: {lacking}. {_remedy(lacking, namespace)}")
        sleep(PAUSE)


def _look(read: Read, expected: Expected) -> str | None:
    try:
        return missing(read(), expected)
    except Unseen as error:
        # It may come back: this machine's network, or an API server that is restarted.
        return str(error)


def _mounted(spec: Mapping[str, Any]) -> set[str]:
    found = set()
    for volume in spec.get("template", {}).get("spec", {}).get("volumes", None) or ():
        for kind, field in (("configMap", "name"), ("secret", "secretName")):
            if kind in volume:
                found.add(volume[kind].get(field, ""))
    return found


def _remedy(lacking: str, namespace: str) -> str:
    if "cannot be" in lacking:
        return "Make the cluster reachable with the context of the stack file."
    if "no Deployment" in lacking or "do not mount" in lacking:
        # One Secret or ConfigMap that is not there stops the operator for all, and no status says so.
        return f"Its operator says why: `kubectl -n {namespace} logs deployment/trustee-operator-controller-manager`."
    return f"Its pods say why: `kubectl -n {namespace} describe pods -l app=kbs`."
