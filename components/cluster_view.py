"""What the hooks of the confidential runtime, and a verification, see of a cluster: read and never written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes import client
from kubernetes.client import ApiClient, ApiException
from urllib3.exceptions import HTTPError

from components.kubeconfig import KubeconfigError, client_of

GROUP, VERSION, PLURAL = "confidentialcontainers.org", "v1beta1", "ccruntimes"
ANSWER_WITHIN = 15.0
"""Seconds that a single request may take."""

Object = Mapping[str, Any]


class UnreachableError(Exception):
    """The API server does not answer, or refuses to; the text says which, for a user."""


@dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """The same cluster as the provider's. kubeconfig: a path; None for KUBECONFIG, or else ~/.kube/config."""

    context: str
    kubeconfig: str | None = None


@contextmanager
def reading(access: ClusterAccess) -> Iterator[View]:
    """A view as long as the block lasts. UnreachableError from within where the cluster cannot be read."""
    try:
        with client_of(access.context, access.kubeconfig) as api:
            yield View(api)
    except ApiException as error:
        raise UnreachableError(f"the API server of {access.context} refuses: {error.status} {_said(error)}") from error
    except (HTTPError, KubeconfigError, OSError) as error:
        raise UnreachableError(f"the cluster {access.context} cannot be reached: {error}") from error


class View:
    """Everything as in the API's JSON."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    @property
    def api(self) -> ApiClient:
        """The client, for what more there is to ask."""
        return self._api

    def version(self) -> str:
        """The API server's own, such as "v1.32.4"."""
        found: Any = client.VersionApi(self._api).get_code(_request_timeout=ANSWER_WITHIN)
        return str(found.git_version)

    def daemon_sets(self, namespace: str) -> list[Object]:
        """Those of a namespace."""
        return self._list(client.AppsV1Api(self._api).list_namespaced_daemon_set, namespace)

    def cc_runtime(self, name: str) -> Object | None:
        """The CcRuntime, None if there is none, nor its CRD."""
        try:
            found: Any = client.CustomObjectsApi(self._api).get_cluster_custom_object(
                GROUP, VERSION, PLURAL, name, _request_timeout=ANSWER_WITHIN
            )
        except ApiException as error:
            if error.status == 404:
                return None
            raise
        return dict(found)

    def nodes(self) -> list[Object]:
        """All of them."""
        return self._list(client.CoreV1Api(self._api).list_node)

    def node(self, name: str) -> Object | None:
        """One, or None."""
        return next(
            iter(self._list(client.CoreV1Api(self._api).list_node, field_selector=f"metadata.name={name}")), None
        )

    def pods(self) -> list[Object]:
        """Those of all namespaces: the API cannot be asked for those of a runtime class."""
        return self._list(client.CoreV1Api(self._api).list_pod_for_all_namespaces)

    def runtime_classes(self) -> list[str]:
        """Their names."""
        return [str(one["metadata"]["name"]) for one in self._list(client.NodeV1Api(self._api).list_runtime_class)]

    def get(self, path: str) -> Object | None:
        """What is at a path of the API, None if there is nothing, nor the kind of it."""
        api: Any = self._api
        accept = {"Accept": "application/json"}
        request = api.param_serialize("GET", path, header_params=accept, auth_settings=["BearerToken"])
        response = api.call_api(*request, _request_timeout=ANSWER_WITHIN)
        response.read()
        if response.status == 404:
            return None
        if response.status != 200:
            raise ApiException(http_resp=response)
        found: Object = json.loads(response.data)
        return found

    def _list(self, call: Any, *where: str, **selector: str) -> list[Object]:
        # The raw answer: the client's models would rename every key.
        response = call(*where, _preload_content=False, _request_timeout=ANSWER_WITHIN, **selector)
        # Not looked at by the client where the answer is asked for raw.
        if response.status != 200:
            raise ApiException(status=response.status, reason=response.reason)
        items: list[Object] = json.loads(response.data)["items"]
        return items


def _said(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "{}").get("message", error.reason))
    except ValueError:
        return str(error.reason)
