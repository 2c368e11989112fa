"""What no single key can be blamed for: keys that do not go together, and what the cluster would silently lose."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches

from settings.capabilities import GATES, Stage, stage
from settings.cluster import Cluster
from settings.driver import RESERVED
from settings.errors import Problem
from settings.explain import dotted
from settings.fence import Fence
from settings.fence_checks import judge_fence
from settings.ring import Ring
from settings.stack import PROJECT, Stack
from topology.profiles import OPENFUYAO, PROFILES


def judge(stack: Stack, today: datetime) -> list[Problem]:
    """Every problem of a stack whose keys are right one by one. today: with a time zone."""
    found = _gates(stack.cluster, ["cluster"])
    if stack.ring is None and stack.fence is None:
        found.append(Problem(PROJECT, "the stack deploys nothing.", "Add ringfence:ring, ringfence:fence or both."))
    if stack.ring is not None:
        found += [*_lost(stack.cluster, stack.ring), *_ring(stack.ring), *_driver(stack.ring)]
    if stack.fence is not None:
        if stack.fence.trusted_cluster is not None:
            found += _gates(stack.fence.trusted_cluster, ["fence", "trustedCluster"])
        found += judge_fence(stack.fence, stack.cluster, today)
        found += _namespaces(stack.fence, stack.ring)
    return found


def _namespaces(fence: Fence, ring: Ring | None) -> list[Problem]:
    """Each is made once: the second of the same name would fail halfway through."""
    taken: dict[str, str] = {}
    if ring is not None:
        taken |= dict.fromkeys(ring.namespaces, "ring.namespaces")
        if ring.driver is not None:
            taken[ring.driver.namespace] = "ring.driver"
    operators: list[tuple[str, str]] = []
    if fence.installed_cc_operator is not None:
        operators.append(("ccOperator", fence.installed_cc_operator.namespace))
    if fence.trustee_operator is not None and fence.trusted_cluster is None:
        operators.append(("trusteeOperator", fence.trustee_operator.namespace))
    found = []
    for section, namespace in operators:
        if namespace in taken:
            key = dotted(["fence", section, "namespace"])
            reason = f"{namespace} is that of {taken[namespace]} too, and an operator needs one of its own."
            found.append(Problem(key, reason, "Write another one, or leave the key out."))
        taken[namespace] = f"fence.{section}"
    return found


def _gates(cluster: Cluster, at: Sequence[str]) -> list[Problem]:
    found = []
    for gate, on in cluster.feature_gates.items():
        key = dotted([*at, "featureGates", gate])
        if gate not in GATES:
            close = get_close_matches(gate, GATES, n=1)
            remedy = f"Did you mean {close[0]}?" if close else f"The gates are {', '.join(GATES)}."
            found.append(Problem(key, "is no feature gate of DRA.", remedy))
            continue
        now = stage(gate, cluster.version)
        if now is Stage.ABSENT:
            reason = f"Kubernetes {cluster.version} has no such gate, and would not start with it."
            found.append(Problem(key, reason, f"Remove it, or correct {at[-1]}.version."))
        elif now is Stage.LOCKED and not on:
            reason = f"Kubernetes {cluster.version} locks it to true, and would not start with false."
            found.append(Problem(key, reason, "Remove it."))
        elif gate == "DynamicResourceAllocation" and not on:
            reason = "without it the cluster has no DeviceClasses and no claims."
            found.append(Problem(key, reason, "Turn it on in the cluster, and remove it here."))
    return found


def _lost(cluster: Cluster, ring: Ring) -> list[Problem]:
    """What the API server would remove from the objects without an error."""
    found = []
    if ring.extended_resources and not cluster.capabilities.extended_resources:
        found.append(_dropped(cluster, "DRAExtendedResource", "extendedResources", "extendedResourceName", "Remove it"))
    if ring.relaxed and not cluster.capabilities.prioritized_list:
        found.append(_dropped(cluster, "DRAPrioritizedList", "relaxed", "firstAvailable", "Write false"))
    return found


def _dropped(cluster: Cluster, gate: str, key: str, field: str, otherwise: str) -> Problem:
    since = cluster.capabilities.since(gate)
    why = "turned off in cluster.featureGates" if gate in cluster.feature_gates else "off"
    # A gate that someone turned off does not come back with a newer version.
    newer = f", or upgrade to Kubernetes {since}" if since is not None and gate not in cluster.feature_gates else ""
    return Problem(
        dotted(["ring", key]),
        f"on Kubernetes {cluster.version} the gate {gate} is {why}, so the API server drops {field} without a word.",
        f"{otherwise}, or set {gate}: true in cluster.featureGates if the whole control plane runs with it{newer}.",
    )


def _ring(ring: Ring) -> list[Problem]:
    found = []
    if ring.profile not in PROFILES:
        remedy = f"Write one of {', '.join(PROFILES)}."
        found.append(Problem(dotted(["ring", "profile"]), f"there is no driver profile {ring.profile!r}.", remedy))
    for key, entries in (("servers", ring.servers), ("namespaces", ring.namespaces)):
        for index, entry in enumerate(entries):
            if entry in entries[:index]:
                found.append(Problem(dotted(["ring", key, index]), f"{entry} is there twice.", "Remove one."))
    for index, namespace in enumerate(ring.namespaces):
        if ring.create_namespaces and namespace in RESERVED:
            reason = f"every cluster has {namespace} already, so creating it would fail."
            remedy = "Name another, or set ring.createNamespaces: false."
            found.append(Problem(dotted(["ring", "namespaces", index]), reason, remedy))
    for server, counts in ring.counts.items():
        for index, count in enumerate(counts):
            if count < 1:
                key = dotted(["ring", "counts", server, index])
                found.append(Problem(key, f"{count} NPUs are no job.", "Write a number from 1 on."))
    return found


def _driver(ring: Ring) -> list[Problem]:
    driver = ring.installed
    if driver is None:
        return []
    found = []
    # By the attributes and not by the driver's name, which MindCluster's driver shares.
    profile = PROFILES.get(ring.profile)
    published = (OPENFUYAO.driver, OPENFUYAO.ring, OPENFUYAO.quad)
    if profile is not None and (profile.driver, profile.ring, profile.quad) != published:
        found.append(
            Problem(
                dotted(["ring", "driver"]),
                f"this stack can install openFuyao's driver only, and ring.profile is {ring.profile}.",
                "Write driver.install: false and install that one by its own means, or change ring.profile.",
            )
        )
    if driver.namespace in ring.namespaces:
        found.append(
            Problem(
                dotted(["ring", "driver", "namespace"]),
                f"{driver.namespace} is also one of ring.namespaces, so jobs could run privileged beside the driver.",
                "Give the driver a namespace of its own.",
            )
        )
    mounted = {driver.kubelet_root, driver.cdi_root}
    for index, path in enumerate(driver.host_paths):
        if path in mounted or path in driver.host_paths[:index]:
            remedy = "Remove it."
            found.append(Problem(dotted(["ring", "driver", "hostPaths", index]), f"{path} is mounted already.", remedy))
    return found
