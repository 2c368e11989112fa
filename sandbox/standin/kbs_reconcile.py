"""One pass of trustee-operator over a KbsConfig."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from sandbox.standin import kbs_deployment, kube, kubelet
from sandbox.standin.behaviour import KbsBehaviour
from sandbox.standin.kube import Kube, Object
from sandbox.standin.loop import Log

FINALIZER = "kbsconfig.confidentialcontainers.org/finalizer"


def collection(namespace: str) -> str:
    return f"/apis/confidentialcontainers.org/v1alpha1/namespaces/{namespace}/kbsconfigs"


class Reconciler:
    """Remembers what it last acted on: the operator acts when something it watches changes."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._acted: dict[str, object] = {}
        self._turns = 0

    def reconcile(self, operator: Kube, cr: Object, images: Mapping[str, str], behaviour: KbsBehaviour) -> None:
        """Nothing at all while one referenced ConfigMap or Secret is missing. status is never written."""
        namespace = cr["metadata"]["namespace"]
        try:
            inputs = [
                self._version(operator, namespace, volume)
                for volume in kbs_deployment.volumes(cr["spec"])
                if volume.kind
            ]
        except (kbs_deployment.UnnamedError, LookupError) as error:
            self._log.say(str(error))
            return
        there = operator.get(kube.deployments(namespace), kbs_deployment.NAME)
        uid = None if there is None else there["metadata"]["uid"]
        seen = (cr["metadata"]["generation"], inputs, dict(images), behaviour, uid)
        if there is not None and self._acted.get(cr["metadata"]["uid"]) == seen:
            return
        wanted = self._wanted(cr, images, behaviour)
        if there is None:
            made = operator.create(kube.deployments(namespace), wanted)
            seen = (*seen[:-1], made["metadata"]["uid"])
            cr = _with_finalizer(operator, cr)
        else:
            # Replicas are not looked at again.
            there["spec"]["template"]["spec"] = wanted["spec"]["template"]["spec"]
            ours = _is_ours(wanted["spec"]["template"]["spec"], behaviour)
            there["spec"]["template"] = kubelet.take(there["spec"]["template"], take=ours)
            operator.replace(f"{kube.deployments(namespace)}/{kbs_deployment.NAME}", there)
        self._service(operator, cr)
        self._acted[cr["metadata"]["uid"]] = (cr["metadata"]["generation"], *seen[1:])

    def finalize(self, operator: Kube, cr: Object, behaviour: KbsBehaviour) -> None:
        """Delete the Deployment, then let go; never, if somebody else has deleted it before."""
        namespace, finalizers = cr["metadata"]["namespace"], cr["metadata"].get("finalizers", [])
        if FINALIZER not in finalizers or behaviour.keeps_finalizer:
            return
        if operator.get(kube.deployments(namespace), kbs_deployment.NAME) is None:
            self._log.say(f'deployments.apps "{kbs_deployment.NAME}" not found')
            return
        operator.delete(kube.deployments(namespace), kbs_deployment.NAME)
        _update(operator, cr, [each for each in finalizers if each != FINALIZER])

    def _wanted(self, cr: Object, images: Mapping[str, str], behaviour: KbsBehaviour) -> Object:
        body = kbs_deployment.deployment(cr, images, self._env(cr["spec"].get("KbsEnvVars", {})))
        template = body["spec"]["template"]
        body["spec"]["template"] = kubelet.take(template, take=_is_ours(template["spec"], behaviour))
        return body

    def _env(self, values: Mapping[str, str]) -> list[Object]:
        """In no order that stays: 0.5.0 goes through a map, so that two of them roll the pods for nothing."""
        env = [{"name": name, "value": value} for name, value in sorted(values.items())]
        turn = self._turns % len(env) if env else 0
        self._turns += 1
        return env[turn:] + env[:turn]

    def _version(self, operator: Kube, namespace: str, volume: kbs_deployment.Volume) -> tuple[str, str]:
        path = kube.secrets(namespace) if volume.kind == "secrets" else kube.config_maps(namespace)
        found = operator.get(path, volume.source)
        if found is None:
            raise LookupError(f'{volume.kind} "{volume.source}" not found')
        return found["metadata"]["uid"], found["metadata"]["resourceVersion"]

    def _service(self, operator: Kube, cr: Object) -> None:
        path = kube.services(cr["metadata"]["namespace"])
        wanted = kbs_deployment.service(cr)
        if operator.get(path, kbs_deployment.SERVICE) is None:
            operator.create(path, wanted)
        else:
            operator.merge(f"{path}/{kbs_deployment.SERVICE}", wanted)


def _is_ours(spec: Object, behaviour: KbsBehaviour) -> bool:
    return behaviour.start != "quick" or kubelet.cannot_pull(spec, behaviour.unpullable)


def _with_finalizer(operator: Kube, cr: Object) -> Object:
    finalizers = cr["metadata"].get("finalizers", [])
    return cr if FINALIZER in finalizers else _update(operator, cr, [*finalizers, FINALIZER])


def _update(operator: Kube, cr: Object, finalizers: list[str]) -> Object:
    """Of the whole object, with the empty structures that a Go program cannot leave out."""
    updated = copy.deepcopy(cr)
    updated["metadata"]["finalizers"] = finalizers
    for key in ("tdxConfigSpec", "ibmSEConfigSpec", "kbsLocalCertCacheSpec", "KbsDeploymentSpec"):
        updated["spec"].setdefault(key, {})
    return operator.replace(f"{collection(cr['metadata']['namespace'])}/{cr['metadata']['name']}", updated)
