"""The KBS's Deployment, read from a cluster that is named: neither ~/.kube nor a current context has a say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubernetes import client
from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from components.kbs_ready import DEPLOYMENT, Read, Unseen
from components.kubeconfig import KubeconfigError, client_of

ANSWER_WITHIN = 15.0
"""Seconds that a single request may take."""


def deployment_reader(context: str, kubeconfig: str | None, namespace: str) -> Read:
    """Reads the Deployment each time it is called. kubeconfig: None takes KUBECONFIG, as the provider does."""

    def read() -> Mapping[str, Any] | None:
        try:
            with client_of(context, kubeconfig) as api:
                apps: Any = client.AppsV1Api(api)
                found = apps.read_namespaced_deployment(DEPLOYMENT, namespace, _request_timeout=ANSWER_WITHIN)
                untyped: Any = api
                plain: Mapping[str, Any] = untyped.sanitize_for_serialization(found)
                return plain
        except ApiException as error:
            if error.status == 404:
                return None
            raise Unseen(f"its Deployment cannot be read: {error.status} {error.reason}") from error
        except (HTTPError, KubeconfigError, OSError) as error:
            raise Unseen(f"the cluster {context} cannot be reached") from error

    return read
