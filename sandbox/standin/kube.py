"""The Kubernetes API as paths and plain objects. Every request ends within seconds, so that a stand-in can stop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client import ApiClient, ApiException

from sandbox.api import client_for

Object = dict[str, Any]

ANSWERS_WITHIN = 5.0
"""Seconds a request may take."""

NODES = "/api/v1/nodes"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


def namespace(name: str) -> str:
    return f"/api/v1/namespaces/{name}"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def config_maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def secrets(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets"


def services(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services"


def daemon_sets(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/daemonsets"


def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


class Kube:
    """Whoever the kubeconfig names, or the ServiceAccount of an operator, whose rights then decide."""

    def __init__(self, kubeconfig: Path, impersonate: str | None = None) -> None:
        self._kubeconfig = kubeconfig
        self._api: ApiClient = client_for(kubeconfig)
        self._headers = {"Accept": "application/json"} | ({"Impersonate-User": impersonate} if impersonate else {})

    def as_account(self, namespace: str, name: str) -> Kube:
        """The same API as the ServiceAccount."""
        return Kube(self._kubeconfig, f"system:serviceaccount:{namespace}:{name}")

    def get(self, collection: str, name: str) -> Object | None:
        """None if it does not exist."""
        try:
            return self._ask("GET", f"{collection}/{name}")
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def all(self, collection: str, labels: Mapping[str, str] | None = None) -> list[Object]:
        """Those with all of the labels, by name."""
        query = urlencode(
            {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())} if labels else {}
        )
        items: list[Object] = self._ask("GET", f"{collection}?{query}")["items"]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    def create(self, collection: str, body: Object) -> Object:
        return self._ask("POST", collection, body)

    def replace(self, path: str, body: Object) -> Object:
        """An update as client-go's: refused if someone was faster."""
        return self._ask("PUT", path, body)

    def merge(self, path: str, patch: Object) -> Object:
        """A JSON merge patch: null removes."""
        return self._ask("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, collection: str, name: str) -> None:
        """Nothing there is no error."""
        try:
            self._ask("DELETE", f"{collection}/{name}")
        except ApiException as error:
            if error.status != 404:
                raise

    def close(self) -> None:
        self._api.rest_client.pool_manager.clear()

    def _ask(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        answer = self._api.rest_client.pool_manager.request(
            method,
            f"{self._api.configuration.host}{path}",
            body=None if body is None else json.dumps(body),
            headers=self._headers if body is None else self._headers | {"Content-Type": kind},
            timeout=urllib3.Timeout(total=ANSWERS_WITHIN),
            retries=False,
        )
        text = answer.data.decode("utf-8", "replace")
        if not 200 <= answer.status < 300:
            raise ApiException(status=answer.status, reason=answer.reason, body=text)
        found = json.loads(text)
        return dict(found)


def message(error: ApiException) -> str:
    """What the API server gave as its reason."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.status} {error.reason}"


def labels_of(found: Object) -> dict[str, str]:
    return dict(found["metadata"].get("labels") or {})


def owner(found: Object) -> Object:
    """The reference that makes `found` owner and controller of what bears it."""
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "name": found["metadata"]["name"],
        "uid": found["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
