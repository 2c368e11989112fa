"""The confidential runtime: the one CcRuntime, the nodes it has changed, and what its operator made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components import readiness
from components.verify.drift import differences
from components.verify.finding import Finding, Object, at, failed, listed, looked, ok, unknown
from components.verify.operators import unpullable
from components.verify.snapshot import Snapshot
from settings.cc_presets import NAME
from settings.cc_runtime import CcRuntimeSettings

# What a daemon set runs, by what the CcRuntime says.
_DAEMONS = {
    "cc-operator-pre-install-daemon": ("preInstall", "image"),
    "cc-operator-daemon-install": ("payloadImage",),
    "cc-operator-daemon-uninstall": ("payloadImage",),
    "cc-operator-post-uninstall-daemon": ("postUninstall", "image"),
}
# Privileged and on every node, one of kata-deploy's own and one of ours would change the same files.
_OTHER_NAMESPACE = "kube-system"


def judge_runtime(
    settings: CcRuntimeSettings, spec: Mapping[str, Any], namespace: str, seen: Snapshot
) -> list[Finding]:
    """spec: the CcRuntime's as declared. namespace: the operator's."""
    return [
        *looked("CcRuntime", lambda: _one(spec, seen)),
        *looked("confidential nodes", lambda: _ready(settings, seen)),
        *looked("node labels", lambda: _labels(settings, seen)),
        *looked("installers", lambda: _daemons(namespace, seen)),
        *unpullable("installer pods", namespace, seen),
        *looked("other installers", lambda: _others(seen)),
        unknown(
            "hosts",
            "what is on the hosts (firmware, kernel parameters, containerd's configuration) is not seen by the API "
            "server.",
            "The host preflight looks at it.",
        ),
    ]


def _one(spec: Mapping[str, Any], seen: Snapshot) -> Iterator[Finding]:
    found = {str(one["metadata"]["name"]): one for one in seen.all("CcRuntime")}
    others = [name for name in found if name != NAME]
    if others:
        what = f"there is {listed(others)} besides {NAME}, and both make DaemonSets of the same names."
        yield failed("CcRuntime", what, f"Delete it: kubectl delete ccruntime {' '.join(sorted(others))}.")
    mine = found.get(NAME)
    if mine is None:
        yield failed("CcRuntime", f"there is no CcRuntime {NAME}.", "Run pulumi up --refresh.")
        return
    if at(mine, "metadata", "deletionTimestamp"):
        why = [str(one) for one in readiness.unrestored(mine, seen.all("Node"))]
        what = f"{NAME} is being deleted{': ' + ' '.join(why) if why else '.'}"
        yield failed("CcRuntime", what, "Let it finish, then run pulumi up --refresh.")
    changed = differences(spec, mine.get("spec"))
    if changed:
        # The operator never updates its DaemonSets, so a change by hand has reached no host.
        remedy = (
            f"Change it back (kubectl edit ccruntime {NAME}): no host has followed. pulumi up --refresh would replace "
            "it, and with it Kata on every node."
        )
        yield failed("CcRuntime", f"its spec is not the declared one: {'; '.join(changed)}.", remedy)
    elif not others and not at(mine, "metadata", "deletionTimestamp"):
        yield ok("CcRuntime", f"{NAME} is the only one, and its spec the declared one.")


def _ready(settings: CcRuntimeSettings, seen: Snapshot) -> Iterator[Finding]:
    check = "confidential nodes"
    mine = seen.one("CcRuntime", NAME)
    if mine is None:
        yield unknown(check, "without a CcRuntime there is nothing to be ready.")
        return
    classes = [str(one["metadata"]["name"]) for one in seen.all("RuntimeClass")]
    verdict = readiness.judge(mine, seen.all("Node"), classes, settings.nodes)
    for trouble in verdict.missing:
        yield failed(check, f"{trouble.node + ': ' if trouble.node else ''}{trouble.what}", trouble.remedy)
    for node in verdict.stale:
        what = f"{node}: the CcRuntime counts it as done and it is not labelled, so the count never adds up again."
        yield failed(check, what, f"Give it the label again; or, to delete the CcRuntime: {readiness.rescue(mine)}")
    if verdict.ready and not verdict.stale:
        yield ok(check, f"{listed(verdict.nodes)}: installed and Ready.")
        yield ok("runtime classes", f"{listed(one.name for one in settings.classes)} are there.")


def _labels(settings: CcRuntimeSettings, seen: Snapshot) -> Iterator[Finding]:
    check, key, value = "node labels", settings.node_label.key, settings.node_label.value
    nodes = {str(one["metadata"]["name"]): at(one, "metadata", "labels") or {} for one in seen.all("Node")}
    labelled = {name for name, labels in nodes.items() if labels.get(key) == value}
    more = labelled - set(settings.nodes)
    if more:
        what = f'{listed(more)}: labelled {key}="{value}" and not declared, so Kata is installed there too.'
        yield failed(check, what, f"Add it to ccRuntime.nodes, or take the label off: kubectl label node NAME {key}-.")
    # Those that lack it are among what the nodes are not ready for.
    if labelled == set(settings.nodes):
        yield ok(check, f'{key}="{value}" is on the declared nodes and on no other.')


def _daemons(namespace: str, seen: Snapshot) -> Iterator[Finding]:
    check, mine = "installers", seen.one("CcRuntime", NAME)
    if mine is None:
        return
    judged = 0
    for name, path in _DAEMONS.items():
        found = seen.one("DaemonSet", name, namespace)
        wanted = at(mine, "spec", "config", *path)
        if found is None or wanted is None:
            continue
        judged += 1
        for container in at(found, "spec", "template", "spec", "containers") or ():
            if container["image"] != wanted:
                what = f"DaemonSet {name} has {container['image']}, and the CcRuntime {wanted}."
                remedy = (
                    "The operator makes it once and never updates it: have pulumi replace the CcRuntime (pulumi up "
                    "--replace with its URN, as pulumi stack --show-urns tells)."
                )
                judged -= 1
                yield failed(check, what, remedy)
    if judged:
        yield ok(check, f"{judged} DaemonSets of the operator have the images of the CcRuntime.")
    else:
        yield unknown(check, "there is no DaemonSet that could be compared.")


def _others(seen: Snapshot) -> Iterator[Finding]:
    check = "other installers"
    found = [str(one["metadata"]["name"]) for one in seen.all("DaemonSet", _OTHER_NAMESPACE) if _is_kata_deploy(one)]
    if found:
        what = f"DaemonSet {listed(found)} in {_OTHER_NAMESPACE} changes the same files of the hosts."
        yield failed(
            check, what, "Uninstall it by its own manifests; with it there the CcRuntime cannot be deleted either."
        )
    else:
        yield ok(check, f"no kata-deploy of its own in {_OTHER_NAMESPACE}.")


def _is_kata_deploy(daemon_set: Object) -> bool:
    containers = at(daemon_set, "spec", "template", "spec", "containers") or ()
    return "kata-deploy" in str(daemon_set["metadata"]["name"]) or any(
        "kata-deploy" in one["image"] for one in containers
    )
