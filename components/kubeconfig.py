"""The client of a cluster that is named by its context: a current context has no say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from kubernetes import client, config
from kubernetes.client import ApiClient


class KubeconfigError(Exception):
    """No client can be made from it; the text says why, for a user."""


@contextmanager
def client_of(context: str, kubeconfig: str | None) -> Iterator[ApiClient]:
    """kubeconfig: a path; None for KUBECONFIG, or else ~/.kube/config. KubeconfigError."""
    settings: Any = client.Configuration()
    # One try: who waits asks again anyway, and says meanwhile what is wrong. The client reads it once, at its start.
    settings.retries = False
    try:
        config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=kubeconfig, context=context, client_configuration=settings, persist_config=False
        )
    except yaml.YAMLError:
        # Its message may quote what lies there.
        raise KubeconfigError("the kubeconfig is no YAML") from None
    except (config.ConfigException, OSError) as error:
        raise KubeconfigError(str(error).rstrip(".")) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # What the library says of YAML that is no kubeconfig.
        raise KubeconfigError("what is read as the kubeconfig is none") from error
    with client.ApiClient(settings) as api:
        yield api
