"""The Kubernetes objects of a bench as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.bench.forms import Spec
from sandbox.bench.kind import Kind, Order
from topology.classes import DeviceClass
from topology.devices import resource_slice

JOBS = "bench"
HELD = "bench-held"
"""Namespaces: of the pods that are measured, and of the claims that hold NPUs."""

CPUS, MEMORY_GIB = 192, 1536
"""Of a simulated node."""

_ROOM = {"cpu": str(CPUS), "memory": f"{MEMORY_GIB}Gi", "pods": "250"}


def node(name: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": _ROOM, "allocatable": _ROOM},
    }


def slice_of(kind: Kind, node_name: str, order: Order) -> dict[str, Any]:
    """What the driver would publish on the node, with its devices in another order where one is asked for."""
    found = resource_slice(kind.server, kind.profile, node_name)
    by_id = dict(zip(kind.server.ids, found["spec"]["devices"], strict=True))
    found["spec"]["devices"] = [by_id[id] for id in kind.ordered(order)]
    return found


def device_class(wanted: DeviceClass) -> dict[str, Any]:
    return {"metadata": {"name": wanted.name}, "spec": {"selectors": [{"cel": {"expression": wanted.expression}}]}}


def template(name: str, spec: Spec) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"spec": dict(spec)}}


def pod(
    name: str,
    template_name: str,
    node_name: str | None = None,
    requests: Mapping[str, str] | None = None,
    scheduler: str = "default-scheduler",
) -> dict[str, Any]:
    """A pod with one claim. node_name: the only node it may be given, so that the scheduler looks at no other.

    requests: of CPU and memory. scheduler: the profile.
    """
    resources = {"claims": [{"name": "npus"}], "requests": dict(requests or {})}
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "job", "image": "ringfence.dev/simulated", "resources": resources}],
        "resourceClaims": [{"name": "npus", "resourceClaimTemplateName": template_name}],
        "terminationGracePeriodSeconds": 0,
    }
    if node_name is not None:
        here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
        required = {"nodeSelectorTerms": [here]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"metadata": {"name": name}, "spec": spec}


def held(kind: Kind, name: str, count: int) -> dict[str, Any]:
    """The claim under which NPUs of a node are held."""
    exactly = {"deviceClassName": kind.device_class, "allocationMode": "ExactCount", "count": count}
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [{"name": "held", "exactly": exactly}]}}}


def allocation(kind: Kind, node_name: str, ids: Sequence[int]) -> Mapping[str, Any]:
    """The status that says these NPUs of the node are given out."""
    results = [
        {
            "request": "held",
            "driver": kind.profile.driver,
            "pool": node_name,
            "device": kind.profile.device_name.format(id=id),
        }
        for id in ids
    ]
    return {"allocation": {"devices": {"results": results}}}
