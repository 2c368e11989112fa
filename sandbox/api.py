"""A Kubernetes client for a kubeconfig, and for no other."""

from __future__ import annotations

from pathlib import Path

from kubernetes import client, config


def client_for(kubeconfig: Path) -> client.ApiClient:
    """A client for the current context of this file. Neither ~/.kube nor the environment is looked at.

    Close it, or use it as a context manager.
    """
    settings = client.Configuration()
    config.load_kube_config(  # type: ignore[no-untyped-call]
        config_file=str(kubeconfig), client_configuration=settings, persist_config=False
    )
    # The sandbox is on loopback: a proxy from the environment could only get in the way.
    settings.proxy = None
    return client.ApiClient(settings)
