"""trustee-operator: what it does in one pass, and what becomes of the pods of its Deployment."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sandbox.standin import kubelet, manager
from sandbox.standin.behaviour import KbsBehaviour
from sandbox.standin.kbs_answer import Answer
from sandbox.standin.kbs_reconcile import Reconciler, collection
from sandbox.standin.kube import Kube, Object
from sandbox.standin.loop import Log

NAMESPACE = "trustee-operator-system"
MANAGER = "trustee-operator-controller-manager"


class KbsOperator:
    """behaviour: asked for at every pass, so that it can be changed on the way."""

    def __init__(self, kubeconfig: Path, behaviour: Callable[[], KbsBehaviour], log: Log) -> None:
        self._api = Kube(kubeconfig)
        self._operator: Kube | None = None
        self._started: tuple[str, int] | None = None
        self._reconciler = Reconciler(log)
        self._seen: dict[str, float] = {}
        self._behaviour, self._log = behaviour, log
        self.answer = Answer(self._api, NAMESPACE, log)

    def step(self) -> None:
        behaviour = self._behaviour()
        kubelet.play(self._api, NAMESPACE, lambda pod: self._state(pod, behaviour))
        found = manager.find(self._api, NAMESPACE, MANAGER)
        if found is None:
            self._started = None
        else:
            if self._operator is None:
                self._operator = self._api.as_account(NAMESPACE, found.service_account)
            if self._started != (found.uid, found.generation):
                manager.label_namespace(self._operator, NAMESPACE)
                self._started = (found.uid, found.generation)
            # Its own namespace only.
            for cr in self._operator.all(collection(NAMESPACE)):
                if "deletionTimestamp" in cr["metadata"]:
                    self._reconciler.finalize(self._operator, cr, behaviour)
                else:
                    self._reconciler.reconcile(self._operator, cr, found.env, behaviour)
        self.answer.follow(behaviour)

    def close(self) -> None:
        self.answer.close()
        if self._operator is not None:
            self._operator.close()
        self._api.close()

    def _state(self, pod: Object, behaviour: KbsBehaviour) -> kubelet.State:
        if kubelet.cannot_pull(pod["spec"], behaviour.unpullable):
            return "ErrImagePull"
        if behaviour.start == "failing":
            return "CrashLoopBackOff"
        began = self._seen.setdefault(pod["metadata"]["uid"], time.monotonic())
        waits = behaviour.start == "slow" and time.monotonic() - began < behaviour.seconds
        return "ContainerCreating" if behaviour.start == "hanging" or waits else "Running"
