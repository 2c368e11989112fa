"""The KBS's Deployment, read from a cluster that is named: neither ~/.kube nor a current context has a say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.cluster_view import ClusterAccess, UnreachableError, reading
from components.kbs_ready import DEPLOYMENT, Read, Unseen


def deployment_reader(context: str, kubeconfig: str | None, namespace: str) -> Read:
    """Reads the Deployment each time it is called. kubeconfig: None takes KUBECONFIG, as the provider does."""
    access = ClusterAccess(context=context, kubeconfig=kubeconfig)

    def read() -> Mapping[str, Any] | None:
        try:
            with reading(access) as view:
                return view.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{DEPLOYMENT}")
        except UnreachableError as error:
            raise Unseen(f"its Deployment cannot be read: {error}") from error

    return read
