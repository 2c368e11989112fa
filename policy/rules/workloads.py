"""What rules ask of workloads: which is a DRA driver, which a device plugin, where they run."""

from __future__ import annotations

from policy.rules.context import Context
from policy.rules.find import containers, pod_specs
from policy.rules.model import Subject
from policy.rules.view import View

_REGISTRY = "plugins_registry"
_DEVICE_PLUGINS = "device-plugins"


def only_pod(subject: Subject) -> View | None:
    """The spec of the pods of a DaemonSet; None for other kinds."""
    return next(pod_specs(subject), None) if subject.kind == "DaemonSet" and subject.group == "apps" else None


def host_paths(spec: View) -> list[View]:
    """The paths of the host that a pod mounts."""
    found = [volume.at("hostPath", "path") for volume in spec.at("volumes").items()]
    return [view for view in found if not view.absent]


def is_dra_driver(subject: Subject) -> bool:
    """A DaemonSet that registers with the kubelet and brings no device plugin."""
    spec = only_pod(subject)
    if spec is None:
        return False
    paths = [path.text() or "" for path in host_paths(spec)]
    return any(path.rstrip("/").endswith(_REGISTRY) for path in paths) and not is_device_plugin(subject)


def is_device_plugin(subject: Subject) -> bool:
    """A DaemonSet that registers devices the older way: through the kubelet's device-plugins folder, or by its name."""
    spec = only_pod(subject)
    if spec is None:
        return False
    paths = [path.text() or "" for path in host_paths(spec)]
    images = [container.at("image").text() or "" for container in containers(spec)]
    names = " ".join([subject.name, *(image.rpartition("/")[2] for image in images)]).lower().replace("-", "")
    return any(path.rstrip("/").endswith(_DEVICE_PLUGINS) for path in paths) or "deviceplugin" in names


def may_share_nodes(one: View, other: View) -> bool:
    """Whether two pods' node selectors can hold on the same node."""
    ours, theirs = one.at("nodeSelector").strings(), other.at("nodeSelector").strings()
    return all(theirs.get(key, value) == value for key, value in ours.items())


def key_of(subject: Subject, context: Context) -> str:
    """namespace/name, as lists of what is allowed name workloads."""
    return f"{context.namespace_of(subject)}/{subject.name}"


def is_below(path: str, allowed: str) -> bool:
    """Whether a path is one that is allowed, or is below it."""
    return path.rstrip("/") == allowed.rstrip("/") or path.startswith(allowed.rstrip("/") + "/")
