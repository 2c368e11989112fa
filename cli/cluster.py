"""A live cluster, only read: whole lists of objects, as the API server has them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config
from kubernetes.client import ApiClient, ApiException
from urllib3.exceptions import HTTPError

from cli.output import MISUSED, fail

PAGE = 500
"""Objects that a call asks for; as many calls follow as there are pages."""

Plain = dict[str, Any]


class Cluster:
    """Lists by path, raw: what the client's own classes do not know is kept."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def objects(self, group_version: str, plural: str, namespace: str | None = None) -> list[Plain]:
        """All objects of a kind, with kind and apiVersion; of one namespace if it is given."""
        base = f"/api/{group_version}" if "/" not in group_version else f"/apis/{group_version}"
        path = f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"
        found: list[Plain] = []
        following = ""
        while True:
            query = [("limit", str(PAGE)), *([("continue", following)] if following else [])]
            page = self._get(path, query)
            kind = str(page.get("kind", "")).removesuffix("List")
            found += [{"kind": kind, "apiVersion": page.get("apiVersion"), **item} for item in page.get("items") or ()]
            following = (page.get("metadata") or {}).get("continue") or ""
            if not following:
                return found

    def served(self, group_version: str) -> frozenset[str]:
        """The plural names that the cluster serves of a group's version; none where it has no such version."""
        try:
            found = self._get(f"/apis/{group_version}", [])
        except ApiException as error:
            if error.status == 404:
                return frozenset()
            raise
        return frozenset(str(one.get("name")) for one in found.get("resources") or ())

    def version(self) -> str:
        """major.minor of the API server."""
        found = self._get("/version", [])
        return f"{found.get('major')}.{str(found.get('minor')).rstrip('+')}"

    def _get(self, path: str, query: Sequence[tuple[str, str]]) -> Plain:
        response = self._api.call_api(
            *self._api.param_serialize(
                method="GET", resource_path=path, query_params=list(query), auth_settings=["BearerToken"]
            )
        )
        body = response.read()  # type: ignore[no-untyped-call]
        if not 200 <= response.status <= 299:
            raise ApiException(http_resp=response)
        found: Plain = json.loads(body)
        return found


@contextmanager
def cluster(kubeconfig: Path | None, context: str | None) -> Iterator[Cluster]:
    """The cluster of a kubeconfig (by default kubectl's) and context. One clear error where it cannot be read."""
    try:
        settings = client.Configuration()
        config.load_kube_config(  # type: ignore[no-untyped-call]
            # The client reads KUBECONFIG when it is imported, which may have been before it was set.
            config_file=os.environ.get("KUBECONFIG") if kubeconfig is None else str(kubeconfig),
            context=context,
            client_configuration=settings,
            persist_config=False,
        )
        with client.ApiClient(settings) as api:
            yield Cluster(api)
    except (config.ConfigException, yaml.YAMLError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        fail(f"{_named(kubeconfig, context)}: {reason}. Name a kubeconfig and a context in it.", MISUSED)
    except ApiException as error:
        fail(f"the cluster refused: {error.status} {error.reason}: {_message(error)}", MISUSED)
    except (HTTPError, OSError) as error:
        reason = str(getattr(error, "reason", None) or error).partition(": ")[2] or str(error)
        fail(f"{_named(kubeconfig, context)}: the cluster cannot be reached: {reason}.", MISUSED)


def _named(kubeconfig: Path | None, context: str | None) -> str:
    words = [f"--kubeconfig {kubeconfig}"] if kubeconfig is not None else []
    words += [f"--context {context}"] if context is not None else []
    return " ".join(words) or "the current context"


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body or "{}").get("message", error.body))
    except ValueError:
        return str(error.body)
