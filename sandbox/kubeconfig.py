"""Kubeconfigs with everything in them: they can be moved about and depend on no other file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from sandbox import files, pki


def text(*, server: str, context: str, user: str, certificates: Path, identity: str) -> str:
    """A kubeconfig (YAML) for the client certificate `identity` of the folder `certificates`."""

    def embedded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    cluster = {"server": server, "certificate-authority-data": embedded(pki.certificate_of(certificates, "ca"))}
    credentials = {
        "client-certificate-data": embedded(pki.certificate_of(certificates, identity)),
        "client-key-data": embedded(pki.key_of(certificates, identity)),
    }
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": cluster}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": user}}],
            "current-context": context,
        },
        sort_keys=False,
    )


def write(path: Path, *, server: str, context: str, certificates: Path, identity: str) -> None:
    """Write it (mode 0600), leaving the file alone if nothing changed."""
    files.write_changed(
        path,
        text(server=server, context=context, user=context, certificates=certificates, identity=identity),
    )


def write_merged(path: Path, sources: Sequence[Path]) -> None:
    """Write one file with all their contexts, that of the first the current one.

    A list of files in KUBECONFIG would do for kubectl, not for pulumi's provider: it takes the variable for one path.
    """
    merged: dict[str, Any] = {}
    for source in sources:
        found = yaml.safe_load(source.read_text(encoding="utf-8"))
        lists = {key: [*merged.get(key, []), *found[key]] for key in ("clusters", "users", "contexts")}
        merged = found | merged | lists
    files.write_changed(path, yaml.safe_dump(merged, sort_keys=False))
