"""A Kubernetes client for a kubeconfig, and for no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kubernetes import client, config
from kubernetes.client import ApiClient, ApiException
from urllib3.exceptions import HTTPError

from sandbox.errors import SandboxError


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


@contextmanager
def talking_to(kubeconfig: Path) -> Iterator[ApiClient]:
    """A client for as long as the block lasts. SandboxError where the API server is gone or refuses what is asked."""
    try:
        with client_for(kubeconfig) as api:
            yield api
    except ApiException as error:
        raise SandboxError(
            f"The API server refused: {error.status} {error.reason}: {_message(error)}",
            remedy="If the sandbox was changed by hand, `make down` and `make up` start afresh.",
        ) from error
    except (HTTPError, config.ConfigException, FileNotFoundError) as error:
        raise SandboxError(
            "The API server of the sandbox went away while it was being talked to.",
            remedy="`ringfence sandbox status` tells what runs; `make up` brings it back.",
        ) from error


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "{}").get("message", error.body))
    except ValueError:
        return str(error.body)
