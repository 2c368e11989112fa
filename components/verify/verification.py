"""`ringfence fence verify`, without its words on a terminal: from a stack to findings, cluster by cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from components.cc_from_settings import cc_runtime_args, workload_args
from components.cc_operator import SERVICE_ACCOUNT
from components.cc_runtime import spec
from components.cluster_view import ClusterAccess, UnreachableError, reading
from components.crds.definitions import ccruntimes, kbsconfigs
from components.kbs_config import NAME
from components.preflight.cluster import OLDEST
from components.trustee import paths
from components.verify.broker import judge_broker, names_in
from components.verify.door import Door, Knock, judge_door, knock
from components.verify.finding import Finding, failed, ok, unknown
from components.verify.guests import judge_asked_for, judge_attestation, judge_workloads
from components.verify.operators import Operator, judge_operator
from components.verify.reading import Want, add, snapshot
from components.verify.runtime import judge_runtime
from components.verify.snapshot import HiddenError, Object, Snapshot, files_of
from settings.cluster import Cluster
from settings.fence import Fence
from settings.kbs import KbsSettings


@dataclass(frozen=True)
class Group:
    """title: what the findings are about."""

    title: str
    findings: Sequence[Finding]


@dataclass(frozen=True)
class Asked:
    """now: with a time zone. ca: PEM of the authority that guests trust. at: where to knock instead of the address."""

    now: datetime
    ca: str | None = None
    at: tuple[str, int] | None = None


def verify(fence: Fence, cluster: Cluster, asked: Asked, knocking: Knock = knock) -> list[Group]:
    """Read both clusters, knock at the key broker, and judge."""
    trusted = fence.trusted_cluster or cluster
    workload_seen = _see(cluster, _workload_wants(fence))
    trusted_seen = _see(trusted, _trusted_wants(fence), then_named=_namespace(fence))
    groups = []
    if fence.trusted_cluster is None:
        both = [*judge_workload_side(fence, workload_seen), *judge_trusted_side(fence, trusted_seen, asked.now)]
        groups.append(Group(f"cluster {cluster.context}", [*judge_cluster(cluster, workload_seen), *both]))
    else:
        mine = [*judge_cluster(cluster, workload_seen), *judge_workload_side(fence, workload_seen)]
        groups.append(Group(f"workload cluster {cluster.context}", mine))
        other = [*judge_cluster(trusted, trusted_seen), *judge_trusted_side(fence, trusted_seen, asked.now)]
        groups.append(Group(f"trusted cluster {trusted.context}", other))
    outside = list(judge_attestation(fence))
    if fence.kbs is not None:
        address = fence.kbs.address
        door = Door(address.host, address.port, fence.kbs.tls is not None, asked.ca, asked.at)
        served = None if isinstance(trusted_seen, str) else _certificate(_namespace(fence), trusted_seen)
        outside = [*judge_door(door, knocking(door), served, asked.now), *outside]
    return [*groups, Group("seen from here", outside)]


def judge_cluster(cluster: Cluster, seen: Snapshot | str) -> Iterator[Finding]:
    """seen: a sentence where it could not be read."""
    if isinstance(seen, str):
        yield failed("cluster", f"{seen}.", "Make it reachable with the context of the stack file.")
        return
    found = re.match(r"v?(\d+)\.(\d+)", seen.version)
    if found is None:
        yield unknown("cluster", f"it says to be of version {seen.version or 'none'}, which is not understood.")
    elif (int(found[1]), int(found[2])) < OLDEST:
        yield failed("cluster", f"Kubernetes is {seen.version}.", "The operators need 1.24 or later.")
    elif f"{found[1]}.{found[2]}" != cluster.version:
        what = f"Kubernetes is {seen.version}, and {cluster.version} is declared."
        yield failed("cluster", what, f'Write version: "{found[1]}.{found[2]}" in the stack file.')
    else:
        yield ok("cluster", f"it answers, with Kubernetes {seen.version}.")
    what = f"the stack calls it {cluster.identifier}, and no cluster knows its own name; the context has led here."
    yield unknown("cluster: identity", what)


def judge_workload_side(fence: Fence, seen: Snapshot | str) -> list[Finding]:
    """What is to be on the cluster of the workloads."""
    if isinstance(seen, str):
        return []
    found: list[Finding] = []
    settings = fence.installed_cc_operator
    if settings is not None:
        operator = Operator(
            name="cc-operator",
            version=settings.version,
            namespace=settings.namespace,
            image=settings.chosen_image,
            crd=ccruntimes(),
            owns_crd=settings.crd == "own",
            pull_secrets=settings.image_pull_secrets,
            accounts=[SERVICE_ACCOUNT],
        )
        found += judge_operator(operator, seen)
    runtime = fence.cc_runtime
    if runtime is None or settings is None:
        return found
    declared = cc_runtime_args(runtime, ClusterAccess(context=""), None)
    found += judge_runtime(runtime, spec(declared), settings.namespace, seen)
    url = fence.kbs.url if fence.kbs is not None else None
    workloads = [
        workload_args(one, runtime, kbs_url=url, production=fence.production).workload for one in fence.workloads
    ]
    return found + judge_workloads(workloads, seen)


def judge_trusted_side(fence: Fence, seen: Snapshot | str, now: datetime) -> list[Finding]:
    """What is to be on the cluster of the key broker."""
    settings = fence.trustee_operator
    if isinstance(seen, str) or settings is None:
        return []
    images = settings.images
    operator = Operator(
        name="trustee-operator",
        version=settings.version,
        namespace=settings.namespace,
        image=settings.chosen_image,
        crd=kbsconfigs(),
        owns_crd=settings.crd == "own",
        pull_secrets=settings.image_pull_secrets,
        accounts=["trustee-operator-controller-manager", "default"],
        env={
            "KBS_IMAGE_NAME": images.kbs,
            "KBS_IMAGE_NAME_MICROSERVICES": images.kbs_microservices,
            "AS_IMAGE_NAME": images.attestation_service,
            "RVPS_IMAGE_NAME": images.rvps,
        },
    )
    found = judge_operator(operator, seen)
    if fence.kbs is not None:
        alone = fence.trusted_cluster is not None
        found += judge_broker(fence.kbs, images, settings.namespace, alone=alone, seen=seen, now=now)
        found += judge_asked_for(fence, settings.namespace, seen)
    return found


def _see(cluster: Cluster, wanted: Sequence[Want], then_named: str = "") -> Snapshot | str:
    """then_named: the namespace of a KbsConfig, whose inputs are read too."""
    try:
        with reading(ClusterAccess(context=cluster.context, kubeconfig=cluster.kubeconfig)) as view:
            seen = snapshot(view, wanted)
            secrets = _named(seen, then_named) if then_named else ()
            known = {one["metadata"]["name"] for one in _secrets(seen, then_named)}
            more = tuple(name for name in secrets if name not in known)
            return add(view, seen, [Want("Secret", then_named, more)]) if more else seen
    except UnreachableError as error:
        return str(error).rstrip(".")


def _named(seen: Snapshot, namespace: str) -> Sequence[str]:
    try:
        config = seen.one("KbsConfig", NAME, namespace)
    except HiddenError:
        return ()
    return names_in(config.get("spec") or {})[1] if config is not None else ()


def _secrets(seen: Snapshot, namespace: str) -> Sequence[Object]:
    try:
        return seen.all("Secret", namespace)
    except HiddenError:
        return ()


def _namespace(fence: Fence) -> str:
    return fence.trustee_operator.namespace if fence.trustee_operator is not None else ""


def _workload_wants(fence: Fence) -> list[Want]:
    settings = fence.installed_cc_operator
    if settings is None:
        return []
    own = settings.namespace
    crd = ccruntimes()["metadata"]["name"]
    return [
        Want("Namespace", names=(own,)),
        Want("CustomResourceDefinition", names=(crd,)),
        Want("Node"),
        Want("RuntimeClass"),
        Want("CcRuntime"),
        Want("DaemonSet", own),
        Want("DaemonSet", "kube-system"),
        Want("Pod", own),
        Want("ServiceAccount", own),
        Want("Secret", own, settings.image_pull_secrets),
        *(Want("Deployment", namespace) for namespace in sorted({own, *(one.namespace for one in fence.workloads)})),
    ]


def _trusted_wants(fence: Fence) -> list[Want]:
    settings = fence.trustee_operator
    if settings is None:
        return []
    own = settings.namespace
    crd = kbsconfigs()["metadata"]["name"]
    resources = _resource_secrets(fence.kbs)
    return [
        Want("Namespace", names=(own,)),
        Want("CustomResourceDefinition", names=(crd,)),
        Want("KbsConfig", own),
        Want("ConfigMap", own),
        Want("Deployment", own),
        Want("Pod", own),
        Want("Service", own),
        Want("ServiceAccount", own),
        Want("Secret", own, tuple(sorted({*settings.image_pull_secrets, *resources}))),
    ]


def _resource_secrets(kbs: KbsSettings | None) -> set[str]:
    return set(kbs.resources) if kbs is not None else set()


def _certificate(namespace: str, seen: Snapshot) -> str | None:
    """The certificate that the key broker is to serve, which is public."""
    try:
        config = seen.one("KbsConfig", NAME, namespace)
        name = (config or {}).get("spec", {}).get("kbsHttpsCertSecretName") or ""
        secret = seen.one("Secret", name, namespace)
    except HiddenError:
        return None
    text = files_of(secret).get(paths.TLS_CERTIFICATE_FILE) if secret is not None else None
    return text.decode(errors="replace") if text else None
