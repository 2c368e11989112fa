"""cc-operator: what it does in one pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox.standin import cc_daemonsets, cc_install, cc_uninstall, kubelet, manager
from sandbox.standin.behaviour import CcBehaviour
from sandbox.standin.cc_objects import CC_RUNTIMES, MANAGER, NAMESPACE
from sandbox.standin.cc_scripts import Scripts
from sandbox.standin.kube import Kube, Object
from sandbox.standin.loop import Log


class CcOperator:
    """behaviour: asked for at every pass, so that it can be changed on the way."""

    def __init__(self, kubeconfig: Path, behaviour: Callable[[], CcBehaviour], log: Log) -> None:
        self._api = Kube(kubeconfig)
        self._scripts = Scripts(self._api)
        self._operator: Kube | None = None
        self._started: tuple[str, int] | None = None
        self._behaviour, self._log = behaviour, log

    def step(self) -> None:
        behaviour = self._behaviour()
        # Pods go on without their operator.
        kubelet.play(self._api, NAMESPACE, lambda pod: _state(pod, behaviour))
        self._scripts.play(behaviour)
        found = manager.find(self._api, NAMESPACE, MANAGER)
        if found is None:
            self._started = None
            return
        if self._operator is None:
            self._operator = self._api.as_account(NAMESPACE, found.service_account)
        if self._started != (found.uid, found.generation):
            manager.label_namespace(self._operator, NAMESPACE)
            self._started = (found.uid, found.generation)
        for cr in self._operator.all(CC_RUNTIMES):
            self._reconcile(self._operator, cr, behaviour)

    def close(self) -> None:
        self._scripts.close()
        if self._operator is not None:
            self._operator.close()
        self._api.close()

    def _reconcile(self, operator: Kube, cr: Object, behaviour: CcBehaviour) -> None:
        cc_daemonsets.ensure(operator, cc_daemonsets.uninstall(cr), behaviour.unpullable)
        if "deletionTimestamp" in cr["metadata"]:
            cc_uninstall.reconcile(operator, cr, behaviour)
        else:
            cc_install.reconcile(operator, cr, behaviour, self._log)


def _state(pod: Object, behaviour: CcBehaviour) -> kubelet.State:
    return "ErrImagePull" if kubelet.cannot_pull(pod["spec"], behaviour.unpullable) else "Running"
