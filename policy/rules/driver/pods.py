"""The driver's pods: beside what they run, what they see of the host, and with which priority."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import containers, pod_specs
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.speak import listed
from policy.rules.workloads import (
    host_paths,
    is_below,
    is_device_plugin,
    is_dra_driver,
    key_of,
    may_share_nodes,
    only_pod,
)

_SET = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeSelector: {{accelerator: {nodes}}}
{pod}      containers:
      - name: plugin
        image: registry.example/{name}:1
{container}      volumes:
      - name: registry
        hostPath: {{path: {path}}}
"""


def _set(  # the parts of the example that differ
    name: str = "npu-dra-plugin",
    nodes: str = "huawei-npu",
    path: str = "/var/lib/kubelet/plugins_registry",
    pod: str = "",
    container: str = "",
    namespace: str = "npu-dra-driver",
) -> str:
    pod = "".join(f"      {line}\n" for line in pod.splitlines())
    container = "".join(f"        {line}\n" for line in container.splitlines())
    return _SET.format(name=name, nodes=nodes, path=path, pod=pod, container=container, namespace=namespace)


def _beside(subject: Subject, context: Context) -> Iterator[Finding]:
    if not is_device_plugin(subject):
        return
    ours = only_pod(subject)
    for other in context.of("DaemonSet"):
        theirs = only_pod(other)
        if ours is None or theirs is None or other.key == subject.key or not is_dra_driver(other):
            continue
        if not (ours.at("nodeSelector").plain_known() and theirs.at("nodeSelector").plain_known()):
            continue
        if may_share_nodes(ours, theirs):
            yield Finding(
                ("spec", "template", "spec", "nodeSelector"),
                f"It is a device plugin and may run on the nodes of {other}, a DRA driver: both then give out the same "
                "cards, "
                "and two pods get one.",
                "Give the nodes of each a label of their own, with another value for the same key, and select by it.",
            )


_PLUGIN = "ascend-device-plugin"

BESIDE = Rule(
    id="device-plugin-beside",
    title="No device plugin runs on the nodes of a DRA driver",
    why="A device plugin and a DRA driver know nothing of each other; the same card is advertised twice and used twice "
    "(NVIDIA/aicr#332, google/dranet#30).",
    group=Group.DRIVER,
    remedy="Label the nodes of each, and let the selectors exclude each other.",
    check=_beside,
    whole=True,
    complies=Example(
        "---\n".join(
            [_set(), _set(_PLUGIN, "huawei-plugin", "/var/lib/kubelet/device-plugins", namespace="kube-system")]
        )
    ),
    violates=Example(
        "---\n".join([_set(), _set(_PLUGIN, path="/var/lib/kubelet/device-plugins", namespace="kube-system")])
    ),
)


def _paths(subject: Subject, context: Context) -> Iterator[Finding]:
    allowed = context.allowed.host_paths
    for spec in pod_specs(subject):
        for view in host_paths(spec):
            path = view.text()
            if path is not None and not any(is_below(path, one) for one in allowed):
                yield Finding(
                    view.path,
                    f"It mounts {path} of the host, which is not among the paths that are let through: "
                    f"{listed(allowed, 8)}.",
                    "Remove it, or list it in the policy's configuration (paths), with a reason that a reader can "
                    "judge.",
                )


PATHS = Rule(
    id="host-paths",
    title="Pods mount no paths of the host but those that are listed",
    why="A path of the host is a way out of the container. The driver needs the kubelet's plugin folders, the CDI "
    "folder and the vendor's driver, and nothing else.",
    group=Group.DRIVER,
    remedy="Remove the mount, or list the path.",
    check=_paths,
    complies=Example(_set()),
    violates=Example(_set(path="/etc")),
)

_SHARED = ("hostNetwork", "hostPID", "hostIPC")


def _privileged(subject: Subject, context: Context) -> Iterator[Finding]:
    if not subject.is_placed() or key_of(subject, context) in context.allowed.privileged:
        return
    for spec in pod_specs(subject):
        for key in _SHARED:
            if spec.at(key).flag():
                yield _refused(spec.at(key).path, f"{key} is on", subject, context)
        for container in containers(spec):
            view = container.at("securityContext", "privileged")
            if view.flag():
                name = container.at("name").text() or "?"
                yield _refused(view.path, f"container {name} is privileged", subject, context)


def _refused(path: tuple[str | int, ...], what: str, subject: Subject, context: Context) -> Finding:
    return Finding(
        path,
        f"{what[0].upper()}{what[1:]}, and {key_of(subject, context)} is not among the workloads that may.",
        "Drop it, or list the workload in the policy's configuration (workloads).",
    )


PRIVILEGED = Rule(
    id="privileged",
    title="Only listed workloads are privileged or share the host's namespaces",
    why="A privileged container is root on the node. The driver is one, for device files whose number is not known; "
    "what else is one should be a decision.",
    group=Group.DRIVER,
    remedy="Drop it, or list namespace/workload.",
    check=_privileged,
    complies=Example(_set(container="securityContext: {privileged: true}")),
    violates=Example(_set("tool", container="securityContext: {privileged: true}")),
)

_CRITICAL = ("system-node-critical", "system-cluster-critical")


def _priority(subject: Subject, context: Context) -> Iterator[Finding]:
    for spec in pod_specs(subject):
        priority = spec.at("priorityClassName")
        if is_dra_driver(subject) and priority.absent:
            yield Finding(
                spec.path,
                "The driver's pods have no priority class: where a node runs short of memory or CPU they may go, and "
                "the node's "
                "devices with them.",
                "Write priorityClassName: system-node-critical.",
            )
        name, place = priority.text(), context.namespace_of(subject)
        if not subject.is_placed() or not all(one.view.plain_known() for one in context.of("ResourceQuota")):
            continue
        if name in _CRITICAL and place != "kube-system" and not _has_quota(place, name or "", context):
            yield Finding(
                priority.path,
                f"Some clusters (GKE is one) refuse {name} outside kube-system unless the namespace has a "
                "ResourceQuota for it, "
                f"and {place} has none here.",
                "Add one, with scopeSelector PriorityClass: in a ringfence stack, ring.driver.criticalPodQuota.",
                Level.WARNING,
            )


def _has_quota(namespace: str, priority: str, context: Context) -> bool:
    for quota in context.of("ResourceQuota"):
        for expression in quota.view.at("spec", "scopeSelector", "matchExpressions").items():
            values = [value.text() for value in expression.at("values").items()]
            if context.namespace_of(quota) == namespace and (priority in values or not values):
                return True
    return False


_QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: critical, namespace: npu-dra-driver}
spec:
  hard: {pods: "200"}
  scopeSelector:
    matchExpressions:
    - {scopeName: PriorityClass, operator: In, values: [system-node-critical]}
"""

PRIORITY = Rule(
    id="driver-priority",
    title="A DRA driver has a critical priority, and its namespace the quota that some clusters ask for it",
    why="Without its driver a node's devices vanish 30 s later. Clusters that restrict critical priorities refuse "
    "the pod where no ResourceQuota covers it, which shows only as a DaemonSet without pods.",
    group=Group.DRIVER,
    remedy="priorityClassName: system-node-critical and a ResourceQuota for it.",
    check=_priority,
    whole=True,
    complies=Example("---\n".join([_set(pod="priorityClassName: system-node-critical"), _QUOTA])),
    violates=Example(_set()),
)

RULES = (BESIDE, PATHS, PRIVILEGED, PRIORITY)
