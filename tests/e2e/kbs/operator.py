"""Plays the trustee-operator for one KbsConfig: as v0.5.0 does, as far as order, names and removal go."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from kubernetes import client
from kubernetes.client import ApiException

from sandbox.api import client_for

GROUP, VERSION, PLURAL = "confidentialcontainers.org", "v1alpha1", "kbsconfigs"
FINALIZER = "kbsconfig.confidentialcontainers.org/finalizer"
NAME = "trustee-deployment"
CRD = {
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "KbsConfig", "listKind": "KbsConfigList", "plural": PLURAL, "singular": "kbsconfig"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}


class Operator:
    """Reconciles every few tenths of a second until it is stopped."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.namespace = namespace
        self._api: Any = client_for(kubeconfig)
        self._stopped = threading.Event()
        self.finalizes_only = False
        """Leave those alone that nobody has deleted."""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Operator:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._api.close()

    def _run(self) -> None:
        while not self._stopped.wait(0.3):
            # As the operator does: whatever is missing, it comes back later, and says nothing in the object.
            with suppress(ApiException):
                self._reconcile()

    def _reconcile(self) -> None:
        objects: Any = client.CustomObjectsApi(self._api)
        for one in objects.list_namespaced_custom_object(GROUP, VERSION, self.namespace, PLURAL)["items"]:
            apps: Any = client.AppsV1Api(self._api)
            where = (GROUP, VERSION, self.namespace, PLURAL, one["metadata"]["name"])
            if one["metadata"].get("deletionTimestamp"):
                apps.delete_namespaced_deployment(NAME, self.namespace)
                objects.patch_namespaced_custom_object(*where, {"metadata": {"finalizers": None}})
                continue
            if self.finalizes_only:
                continue
            volumes = self._volumes(one["spec"])
            try:
                there = apps.read_namespaced_deployment(NAME, self.namespace)
            except ApiException as error:
                if error.status != 404:
                    raise
                apps.create_namespaced_deployment(self.namespace, _deployment(one["spec"], volumes))
                objects.patch_namespaced_custom_object(*where, {"metadata": {"finalizers": [FINALIZER]}})
                continue
            kept = {volume.name for volume in there.spec.template.spec.volumes}
            if kept != {volume["name"] for volume in volumes}:
                template = _deployment(one["spec"], volumes)["spec"]["template"]
                there.spec.template = template
                # Only the template: replicas are looked at once.
                apps.replace_namespaced_deployment(NAME, self.namespace, there)

    def _volumes(self, spec: dict[str, Any]) -> list[dict[str, Any]]:
        core: Any = client.CoreV1Api(self._api)
        maps = [value for field, value in spec.items() if field.endswith("ConfigMapName")]
        secrets = [value for field, value in spec.items() if field.endswith("SecretName")]
        secrets += spec.get("kbsSecretResources", [])
        secrets += [one["secretName"] for one in spec.get("kbsLocalCertCacheSpec", {}).get("secrets", [])]
        for name in maps:
            core.read_namespaced_config_map(name, self.namespace)
        for name in secrets:
            core.read_namespaced_secret(name, self.namespace)
        return [{"name": name, "configMap": {"name": name}} for name in maps] + [
            {"name": name, "secret": {"secretName": name}} for name in secrets
        ]


def _deployment(spec: dict[str, Any], volumes: list[dict[str, Any]]) -> dict[str, Any]:
    labels = {"app": "kbs"}
    return {
        "metadata": {"name": NAME},
        "spec": {
            "replicas": spec["KbsDeploymentSpec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "kbs", "image": "registry.example/kbs:1"}], "volumes": volumes},
            },
        },
    }
