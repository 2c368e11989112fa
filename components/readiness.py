"""Whether a CcRuntime is ready, and whether it may be removed: judged from what the API server says, without Pulumi.

Its status has no conditions and no generation (cc-operator 0.13.0), so a generic "is it ready" says yes at once. And
its list of completed nodes only grows, so names are compared and not numbers. All objects are as in the API's JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OPERATOR_NAMESPACE = "confidential-containers-system"
FINALIZER = "runtimeconfig.confidentialcontainers.org/finalizer"
PREINSTALL_LABEL = "confidentialcontainers.org/preinstall"
INSTALLED_LABEL = "katacontainers.io/kata-runtime"
UNINSTALLING_LABEL = "confidentialcontainers.org/startuninstall"
POSTUNINSTALL_LABEL = "confidentialcontainers.org/postuninstall"
# If a CcRuntime selects nothing, the operator takes these.
DEFAULT_SELECTOR: Mapping[str, str] = {"node.kubernetes.io/worker": ""}

Object = Mapping[str, Any]


@dataclass(frozen=True, order=True)
class Trouble:
    """node: the node it is about, "" for none. what, remedy: sentences."""

    node: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.node + ': ' if self.node else ''}{self.what} {self.remedy}"


@dataclass(frozen=True)
class Verdict:
    """ready: nothing is missing. nodes: the labelled ones, by name. stale: completed ones that are not labelled."""

    nodes: tuple[str, ...]
    missing: tuple[Trouble, ...]
    stale: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return not self.missing


def judge(
    cc_runtime: Object | None, nodes: Iterable[Object], runtime_classes: Iterable[str], expected: Iterable[str] = ()
) -> Verdict:
    """cc_runtime: the object, None if there is none. nodes: all of the cluster. runtime_classes: names in the cluster.

    expected: names of nodes that have to be among the labelled ones.
    """
    by_name = {name_of(node): node for node in nodes}
    if cc_runtime is None:
        return Verdict((), (Trouble("", "there is no CcRuntime.", "Run pulumi up."),))
    selector = selector_of(cc_runtime)
    labelled = sorted(name for name, node in by_name.items() if _selected(node, selector))
    installation = _at(cc_runtime, "status", "installationStatus")
    completed = set(_at(installation, "completed", "completedNodesList") or ())
    missing = [
        *_unlabelled(sorted(set(expected) - set(labelled)), by_name, selector),
        # Its label as well: a host that was set up anew under its old name is among the completed ones for ever.
        *_uncompleted(
            [
                name
                for name in labelled
                if name not in completed or _labels(by_name[name]).get(INSTALLED_LABEL) != "true"
            ],
            by_name,
            _failures(installation),
        ),
        *_not_ready([by_name[name] for name in labelled]),
    ]
    if not labelled and not missing:
        what = f"no node carries the label {_written(selector)}, so the operator installs nothing and says nothing."
        missing.append(Trouble("", what, "Label the nodes that are to run confidential containers."))
    missing.extend(_classes(cc_runtime, set(runtime_classes)))
    return Verdict(tuple(labelled), tuple(missing), tuple(sorted(completed - set(labelled))))


def hindrances(cc_runtime: Object, nodes: Iterable[Object], pods: Iterable[Object]) -> tuple[Trouble, ...]:
    """What would be damaged if the CcRuntime were deleted now; empty if it may be.

    pods: of all namespaces. Pods of its runtime classes lose their runtime under their feet; and without the operator's
    finalizer a deletion leaves the hosts as the installers changed them.
    """
    classes = class_names(cc_runtime)
    running = sorted(
        (_at(pod, "spec", "nodeName") or "", f"{_at(pod, 'metadata', 'namespace')}/{name_of(pod)}")
        for pod in pods
        if _at(pod, "spec", "runtimeClassName") in classes
        and _at(pod, "status", "phase") not in {"Succeeded", "Failed"}
    )
    found = [
        Trouble(node, f"pod {pod} still runs in a kata VM.", "Delete it, or scale what it belongs to down to 0.")
        for node, pod in running
    ]
    if FINALIZER not in (_at(cc_runtime, "metadata", "finalizers") or ()):
        found.extend(
            Trouble(
                name_of(node),
                "its containerd has been changed, and nothing would change it back: the installation is not through, "
                "and until then the operator does not clean up.",
                "Let it finish (ringfence fence verify says what it lacks), or clean the host up by hand and then "
                f"remove the labels {PREINSTALL_LABEL} and {INSTALLED_LABEL} from the node.",
            )
            for node in sorted(nodes, key=name_of)
            if _touched(node) and _selected(node, selector_of(cc_runtime))
        )
    return tuple(found)


def unrestored(cc_runtime: Object, nodes: Iterable[Object]) -> tuple[Trouble, ...]:
    """Why a deletion of the CcRuntime is not through: what each host lacks; empty if the operator only has to go on."""
    there = {name_of(node): node for node in nodes}
    status = _at(cc_runtime, "status", "installationStatus", "completed", "completedNodesList") or ()
    found = [
        Trouble(name, "the operator waits for it, and it has left the cluster or lost its label.", rescue(cc_runtime))
        for name in sorted(status)
        if name not in there or not _selected(there[name], selector_of(cc_runtime))
    ]
    for name, node in sorted(there.items()):
        labels = _labels(node)
        if labels.get(UNINSTALLING_LABEL) != "true":
            continue
        if labels.get(INSTALLED_LABEL) != "cleanup":
            found.append(Trouble(name, "Kata is not uninstalled.", _look("cc-operator-daemon-uninstall")))
        elif labels.get(POSTUNINSTALL_LABEL) != "done":
            what = "the post-uninstall hook has not finished."
            found.append(Trouble(name, what, _look("cc-operator-post-uninstall-daemon")))
    return tuple(found)


def rescue(cc_runtime: Object) -> str:
    """The way out where the operator never will be through: it leaves hosts as they are."""
    patch = """'{"metadata":{"finalizers":null}}'"""
    return (
        "Bring the node back; or, for good, clean its host up by hand and then give the CcRuntime up: "
        f"kubectl patch ccruntime {name_of(cc_runtime)} --type merge -p {patch}."
    )


def label_trouble(name: str, node: Object | None, key: str, value: str) -> Trouble | None:
    """What stands in the way of giving the node the label, or None."""
    if node is None:
        return Trouble(
            name,
            "there is no such node, and to label it would make one.",
            "Write the name as kubectl get nodes prints it, or remove it from the list.",
        )
    found = _labels(node).get(key)
    if found is None or found == value:
        return None
    return Trouble(
        name,
        f"it has the label {key} with the value {found!r}, and the CcRuntime selects {value!r}.",
        f"Take it off (kubectl label node {name} {key}-), or choose another label for the CcRuntime.",
    )


def going(cc_runtime: Object) -> bool:
    """Whether its deletion is under way, and nothing can hold it up any more."""
    return _at(cc_runtime, "metadata", "deletionTimestamp") is not None


def selector_of(cc_runtime: Object) -> Mapping[str, str]:
    """The labels that a node has to have. The operator looks at matchLabels only."""
    return _at(cc_runtime, "spec", "ccNodeSelector", "matchLabels") or DEFAULT_SELECTOR


def class_names(cc_runtime: Object) -> set[str]:
    """The RuntimeClasses that are its own: those it asks for, those its status names, and kata, the default's alias."""
    asked = {one["name"] for one in _at(cc_runtime, "spec", "config", "runtimeClasses") or ()}
    made = {name.strip() for name in (_at(cc_runtime, "status", "runtimeClass") or "").split(",")}
    alias = {"kata"} if _at(cc_runtime, "spec", "config", "defaultRuntimeClassName") else set()
    return (asked | made | alias) - {""}


def name_of(thing: Object) -> str:
    """metadata.name."""
    return str(_at(thing, "metadata", "name"))


def _unlabelled(names: Sequence[str], nodes: Mapping[str, Object], selector: Mapping[str, str]) -> list[Trouble]:
    found = []
    for name in names:
        if name not in nodes:
            what, remedy = "it is not in the cluster.", "Bring it back, or remove it from the stack's nodes."
        else:
            what = f"it does not carry the label {_written(selector)}."
            remedy = "Run pulumi up --refresh, which puts it back, and find out who took it off."
        found.append(Trouble(name, what, remedy))
    return found


def _uncompleted(names: Sequence[str], nodes: Mapping[str, Object], failures: Mapping[str, str]) -> list[Trouble]:
    return [_stuck(name, _labels(nodes[name]), failures.get(name)) for name in names]


def _stuck(name: str, labels: Mapping[str, str], failure: str | None) -> Trouble:
    if failure is not None:
        return Trouble(name, f"the operator says that it failed: {failure}.", _look("cc-operator-daemon-install"))
    if labels.get(PREINSTALL_LABEL) != "done":
        what, daemon = "the pre-install hook has not finished.", "cc-operator-pre-install-daemon"
    elif labels.get(INSTALLED_LABEL) != "true":
        what, daemon = "the Kata runtime is not installed yet.", "cc-operator-daemon-install"
    else:
        what = "the Kata runtime is installed, but the operator has not taken note of it."
        return Trouble(name, what, f"Look at its log: kubectl -n {OPERATOR_NAMESPACE} logs deploy/{_MANAGER}.")
    return Trouble(name, what, _look(daemon))


_MANAGER = "cc-operator-controller-manager"


def _look(daemon: str) -> str:
    return f"Look at its pod of DaemonSet {daemon} in {OPERATOR_NAMESPACE}: kubectl describe, then logs."


def _failures(installation: Any) -> dict[str, str]:
    listed = _at(installation, "failed", "failedNodesList") or ()
    return {str(one.get("name")): str(one.get("error")).rstrip(".") for one in listed}


def _not_ready(nodes: Iterable[Object]) -> list[Trouble]:
    found = []
    for node in nodes:
        conditions = {one.get("type"): one for one in _at(node, "status", "conditions") or ()}
        condition = conditions.get("Ready", {})
        if condition.get("status") != "True":
            why = condition.get("message") or "its kubelet says nothing"
            what = f"the node is not Ready: {str(why).rstrip('.')}."
            found.append(
                Trouble(
                    name_of(node), what, "See on the host whether containerd and nydus-snapshotter run (systemctl)."
                )
            )
    return found


def _classes(cc_runtime: Object, there: set[str]) -> list[Trouble]:
    found = []
    if not _at(cc_runtime, "status", "runtimeClass"):
        what = "the CcRuntime's status names no runtime class yet."
        remedy = "It does once all its nodes are through; if nothing else is missing, look at the operator's log."
        found.append(Trouble("", what, remedy))
    asked = sorted(one["name"] for one in _at(cc_runtime, "spec", "config", "runtimeClasses") or ())
    absent = [name for name in asked if name not in there]
    if absent:
        remedy = "kata-deploy makes them on the nodes: " + _look("cc-operator-daemon-install")
        what = f"the cluster has no RuntimeClass {', '.join(absent)}."
        found.append(Trouble("", what, remedy))
    return found


def _touched(node: Object) -> bool:
    labels = _labels(node)
    return labels.get(PREINSTALL_LABEL) == "done" or labels.get(INSTALLED_LABEL) == "true"


def _selected(node: Object, selector: Mapping[str, str]) -> bool:
    labels = _labels(node)
    return all(labels.get(key) == value for key, value in selector.items())


def _labels(node: Object) -> Mapping[str, str]:
    return _at(node, "metadata", "labels") or {}


def _written(selector: Mapping[str, str]) -> str:
    return ", ".join(f'{key}="{value}"' for key, value in sorted(selector.items()))


def _at(thing: Any, *steps: str) -> Any:
    for step in steps:
        thing = thing.get(step) if isinstance(thing, Mapping) else None
    return thing
