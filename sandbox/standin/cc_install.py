"""One pass of cc-operator over a CcRuntime that is there to stay."""

from __future__ import annotations

from sandbox.standin import cc_daemonsets, kube
from sandbox.standin.behaviour import CcBehaviour
from sandbox.standin.cc_objects import (
    FINALIZER,
    PRE_INSTALLED,
    config,
    has,
    hook_image,
    selected,
    status_of,
    write_finalizers,
    write_status,
)
from sandbox.standin.kube import Kube, Object
from sandbox.standin.loop import Log


def reconcile(operator: Kube, cr: Object, behaviour: CcBehaviour, log: Log) -> None:
    """Hook first, then the payload, then the status; each pass goes as far as the nodes' labels allow."""
    nodes = operator.all(kube.NODES, selected(cr))
    if not nodes:
        log.say("no suitable worker nodes found for runtime installation")
        return
    status = status_of(cr)
    status["totalNodesCount"] = len(nodes)
    status["runtimeName"] = cr["spec"]["runtimeName"]
    cr = write_status(operator, cr, status)
    # Counted over the whole cluster, nodes outside the selector included.
    if hook_image(cr, "preInstall") and len(operator.all(kube.NODES, PRE_INSTALLED)) < len(nodes):
        cc_daemonsets.ensure(operator, cc_daemonsets.pre_install(cr), behaviour.unpullable)
        return
    if not _complete(status):
        cc_daemonsets.ensure(operator, cc_daemonsets.install(cr), behaviour.unpullable)
    _monitor(operator, cr, status, nodes, behaviour, log)


def _monitor(operator: Kube, cr: Object, status: Object, nodes: list[Object], behaviour: CcBehaviour, log: Log) -> None:
    if _complete(status):
        names = [entry["name"] for entry in config(cr).get("runtimeClasses", [])]
        for name in names:
            if operator.get(kube.RUNTIME_CLASSES, name) is None:
                log.say(f"the payload failed to create the runtime class {name}")
                return
        status["runtimeClass"] = ",".join(names)
        finalizers = cr["metadata"].get("finalizers", [])
        if FINALIZER not in finalizers:
            cr = write_finalizers(operator, cr, [*finalizers, FINALIZER])
    _count(cr, status, nodes)
    _list_failed(status, nodes, behaviour)
    write_status(operator, cr, status)


def _complete(status: Object) -> bool:
    completed = status["installationStatus"]["completed"].get("completedNodesCount", 0)
    return bool(completed == status["totalNodesCount"])


def _count(cr: Object, status: Object, nodes: list[Object]) -> None:
    """Add whom the labels show to be done. Nobody is ever taken off the list again."""
    completed = status["installationStatus"]["completed"]
    names = completed.get("completedNodesList", [])
    done = [node["metadata"]["name"] for node in nodes if has(node, config(cr).get("installDoneLabel", {}))]
    names = [*names, *(name for name in done if name not in names)]
    if names:
        completed |= {"completedNodesCount": len(names), "completedNodesList": names}


def _list_failed(status: Object, nodes: list[Object], behaviour: CcBehaviour) -> None:
    if behaviour.install != "failing" or not behaviour.error:
        return
    names = [node["metadata"]["name"] for node in nodes]
    failed = [name for name in names if not behaviour.nodes or name in behaviour.nodes]
    if failed:
        status["installationStatus"]["failed"] = {
            "failedNodesCount": len(failed),
            "failedNodesList": [{"name": name, "error": behaviour.error} for name in failed],
        }
