"""Simulated nodes: a Node for each captured server, and the ResourceSlice that its driver would publish.

kwok plays the kubelet, this file the driver. The slice comes from the code that a driver uses; what the captures leave
open is filled by the server's assumptions, which a driver never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from topology.assumptions import assume
from topology.devices import resource_slice
from topology.model import Server
from topology.profiles import DriverProfile

SERVER_LABEL = "ringfence.dev/server"
SIMULATED_LABEL = "ringfence.dev/simulated"

_PLAIN = "plain"
_ROOM = {"cpu": "192", "memory": "1536Gi", "pods": "250"}


def publish(
    api: ApiClient, servers: Iterable[Server], profile: DriverProfile, labels: Mapping[str, str] | None = None
) -> int:
    """Make the simulated nodes those of the servers: add, replace where they differ, remove the rest.

    labels: for every node, such as those that the driver's DaemonSet selects. Returns how many objects were written.
    """
    wanted = {server.name: server for server in servers}
    bodies = {name: _node(name, {**(labels or {}), SERVER_LABEL: name, SIMULATED_LABEL: "true"}) for name in wanted}
    written = _nodes(api, bodies, "true")
    return written + _slices(
        api, {name: resource_slice(assume(server), profile, name) for name, server in wanted.items()}
    )


def publish_plain(api: ApiClient, names: Iterable[str]) -> int:
    """Make the simulated nodes without NPUs just these. Those of servers are left alone, and it leaves these alone."""
    return _nodes(api, {name: _node(name, {SIMULATED_LABEL: _PLAIN}) for name in names}, _PLAIN)


def _node(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                **labels,
                "kubernetes.io/arch": "arm64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
            },
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "status": {"capacity": _ROOM, "allocatable": _ROOM},
    }


def _nodes(api: ApiClient, wanted: Mapping[str, dict[str, Any]], kind: str) -> int:
    """kind: the value of SIMULATED_LABEL of those that may be removed."""
    core: Any = client.CoreV1Api(api)
    there = {node.metadata.name: node for node in core.list_node(label_selector=f"{SIMULATED_LABEL}={kind}").items}
    written = 0
    for name in there.keys() - wanted.keys():
        core.delete_node(name)
        written += 1
    for name, node in wanted.items():
        labels = node["metadata"]["labels"]
        if name not in there:
            core.create_node(node)
        elif not labels.items() <= (there[name].metadata.labels or {}).items():
            core.patch_node(name, {"metadata": {"labels": labels}})
        else:
            continue
        written += 1
    return written


def _slices(api: ApiClient, wanted: Mapping[str, dict[str, Any]]) -> int:
    resource: Any = client.ResourceV1Api(api)
    there = {found["metadata"]["name"]: found for found in _list_slices(api)}
    names = {body["metadata"]["name"]: body for body in wanted.values()}
    written = 0
    for name, found in there.items():
        if SIMULATED_LABEL in found["metadata"].get("labels", {}) and name not in names:
            resource.delete_resource_slice(name)
            written += 1
    for name, body in names.items():
        body["metadata"]["labels"] = {SIMULATED_LABEL: "true"}
        if name in there and there[name]["spec"] == body["spec"]:
            continue
        if name in there:
            # The pool cannot be changed in place, and a generation only matters to who holds an older slice.
            resource.delete_resource_slice(name)
        try:
            resource.create_resource_slice(body)
        except ApiException as error:
            if error.status != 409:
                raise
        written += 1
    return written


def _list_slices(api: ApiClient) -> list[dict[str, Any]]:
    listed = client.ResourceV1Api(api).list_resource_slice()
    plain: Any = api.sanitize_for_serialization(listed)  # type: ignore[no-untyped-call]
    return list(plain["items"])


def physical_ids(api: ApiClient, profile: DriverProfile) -> dict[tuple[str, str], int]:
    """(pool, device name) → the NPU's id, as the slices in the cluster say."""
    return {
        (found["spec"]["pool"]["name"], device["name"]): device["attributes"][profile.physical_id]["int"]
        for found in _list_slices(api)
        if found["spec"]["driver"] == profile.driver
        for device in found["spec"].get("devices", [])
    }
