"""What a cluster has of claims and devices, read only."""

from __future__ import annotations

import json
import os
from typing import Any

from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from cli.output import MISUSED, WRONG, fail

_RESOURCES = ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices", "devicetaintrules")
_TIMEOUT = 30


def objects_of(context: str) -> tuple[list[dict[str, Any]], str]:
    """(objects of the resource API, namespaces, nodes and pods; the version) of the cluster of a context."""
    try:
        # The client reads KUBECONFIG when it is imported, which may have been before it was set.
        api = config.new_client_from_config(  # type: ignore[no-untyped-call]
            config_file=os.environ.get("KUBECONFIG"), context=context
        )
    except (ConfigException, OSError) as error:
        fail(f"--context {context}: {error}. Name a context of your kubeconfig.", MISUSED)
    with api:
        try:
            version = client.VersionApi(api).get_code(_request_timeout=_TIMEOUT).git_version
            found: list[dict[str, Any]] = []
            for resource in _RESOURCES:
                found += _listed(api, f"/apis/resource.k8s.io/v1/{resource}")
            for resource in ("namespaces", "nodes", "pods"):
                found += _listed(api, f"/api/v1/{resource}")
        except client.ApiException as error:
            fail(f"--context {context}: the API server answered {error.status} {error.reason}.", WRONG)
        except (HTTPError, OSError) as error:
            fail(f"--context {context}: the API server cannot be reached: {type(error).__name__}.", WRONG)
    return found, str(version)


def _listed(api: client.ApiClient, path: str) -> list[dict[str, Any]]:
    headers: dict[str, str] = {"Accept": "application/json"}
    api.update_params_for_auth(headers, [], ["BearerToken"], path, "GET", None)
    answer: Any = api.call_api("GET", f"{api.configuration.host}{path}", headers, _request_timeout=_TIMEOUT)
    raw = answer.read()
    if answer.status == 404:
        # A kind that this version does not serve.
        return []
    if not 200 <= answer.status < 300:
        raise client.ApiException(status=answer.status, reason=answer.reason)
    data = json.loads(raw)
    one = str(data["kind"]).removesuffix("List")
    return [{"apiVersion": data["apiVersion"], "kind": one, **item} for item in data["items"] or []]
