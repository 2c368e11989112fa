"""Asking a process over TLS whether it is ready. Certificates are verified, proxies are not asked."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import pki
from sandbox.ports import LOOPBACK


@dataclass(frozen=True)
class Endpoint:
    """A port on loopback and what it takes to be believed there.

    certificates: the folder of sandbox.pki. authority: who must have signed what it shows.
    identity: the client certificate to show it; None shows none.
    """

    port: int
    certificates: Path
    authority: str = "ca"
    identity: str | None = None


def get(endpoint: Endpoint, path: str, *, timeout: float) -> tuple[int, str]:
    """GET `path` → (status, body). OSError or HTTPException if it cannot be asked within `timeout` seconds."""
    folder = endpoint.certificates
    context = ssl.create_default_context(cafile=str(pki.certificate_of(folder, endpoint.authority)))
    if endpoint.identity is not None:
        identity = endpoint.identity
        context.load_cert_chain(pki.certificate_of(folder, identity), pki.key_of(folder, identity))
    connection = http.client.HTTPSConnection(LOOPBACK, endpoint.port, context=context, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def answers(endpoint: Endpoint, path: str, *, timeout: float = 2.0) -> bool:
    """Whether it answers with 200."""
    try:
        return get(endpoint, path, timeout=timeout)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def read_object(endpoint: Endpoint, path: str) -> dict[str, Any]:
    """The JSON object it answers with; empty if it does not."""
    try:
        status, body = get(endpoint, path, timeout=5)
        found = json.loads(body) if status == 200 else {}
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
