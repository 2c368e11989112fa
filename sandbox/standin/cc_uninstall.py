"""One pass of cc-operator over a CcRuntime that someone has deleted."""

from __future__ import annotations

from sandbox.standin import cc_daemonsets, kube
from sandbox.standin.behaviour import CcBehaviour
from sandbox.standin.cc_objects import (
    FINALIZER,
    NAMESPACE,
    POST_UNINSTALLED,
    PRE_INSTALLED,
    START_UNINSTALL,
    config,
    has,
    hook_image,
    write_finalizers,
)
from sandbox.standin.kube import Kube, Object


def reconcile(operator: Kube, cr: Object, behaviour: CcBehaviour) -> None:
    """Label the nodes for the uninstaller, then the hook, then let go.

    Each step waits until as many nodes as were counted last (status.totalNodesCount) bear its label: it goes on
    waiting for one that has left, or that was not counted and bears it.
    """
    if FINALIZER not in cr["metadata"].get("finalizers", []):
        return
    total = cr.get("status", {}).get("totalNodesCount", 0)
    if len(operator.all(kube.NODES, config(cr)["uninstallDoneLabel"])) != total:
        for node in operator.all(kube.NODES, config(cr)["installDoneLabel"]):
            if not has(node, START_UNINSTALL):
                _label(operator, node, START_UNINSTALL)
        return
    if hook_image(cr, "postUninstall"):
        done = len(operator.all(kube.NODES, POST_UNINSTALLED))
        if done < total:
            cc_daemonsets.ensure(operator, cc_daemonsets.post_uninstall(cr), behaviour.unpullable)
        if done != total:
            return
    if not behaviour.keeps_finalizer:
        _let_go(operator, cr, total)


def _let_go(operator: Kube, cr: Object, total: int) -> None:
    """Without a hook after it only the finalizer goes: DaemonSets without an owner and labels stay."""
    write_finalizers(operator, cr, [each for each in cr["metadata"]["finalizers"] if each != FINALIZER])
    if not hook_image(cr, "postUninstall"):
        return
    for name in (cc_daemonsets.UNINSTALL, cc_daemonsets.POST_UNINSTALL, cc_daemonsets.PRE_INSTALL):
        operator.delete(kube.daemon_sets(NAMESPACE), name)
    hooks = POST_UNINSTALLED | (PRE_INSTALLED if hook_image(cr, "preInstall") else {})
    nodes = operator.all(kube.NODES, hooks)
    if len(nodes) != total:
        return
    labels = hooks | config(cr)["uninstallDoneLabel"] | START_UNINSTALL
    for node in nodes:
        _label(operator, node, {key: None for key, value in labels.items() if has(node, {key: value})})


def _label(operator: Kube, node: Object, labels: dict[str, str] | dict[str, None]) -> None:
    operator.merge(f"{kube.NODES}/{node['metadata']['name']}", {"metadata": {"labels": labels}})
