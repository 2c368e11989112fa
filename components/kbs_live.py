"""The KBS's Deployment, read from a cluster that is named: neither ~/.kube nor a current context has a say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubernetes import client, config
from kubernetes.client import ApiException

from components.kbs_ready import DEPLOYMENT, Read


def deployment_reader(context: str, kubeconfig: str | None, namespace: str) -> Read:
    """Reads the Deployment each time it is called. kubeconfig: None takes KUBECONFIG, as the provider does."""

    def read() -> Mapping[str, Any] | None:
        settings = client.Configuration()
        config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=kubeconfig, context=context, client_configuration=settings, persist_config=False
        )
        with client.ApiClient(settings) as api:
            apps: Any = client.AppsV1Api(api)
            try:
                found = apps.read_namespaced_deployment(DEPLOYMENT, namespace)
            except ApiException as error:
                if error.status == 404:
                    return None
                raise
            plain: Mapping[str, Any] = api.sanitize_for_serialization(found)
            return plain

    return read
