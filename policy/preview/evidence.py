"""What stands behind a template in a preview: its proof, and the server that it was compiled from.

Both are found by what the template says, never by its name: a proof counts only for just this search on this wiring.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from policy.preview.model import Change, at
from settings.proofs import read_proofs
from settings.servers import SHIPPED, ServerNotFound, find_server, proofs_of
from topology.claims import LABELS, compile_templates, wiring_hash
from topology.errors import TopologyError
from topology.model import Server
from topology.profiles import PROFILES
from topology.proof import Proof, key

TEMPLATE = "ResourceClaimTemplate"
SERVER_LABEL, WIRING_LABEL = f"{LABELS}/server", f"{LABELS}/wiring"


@dataclass(frozen=True)
class Rewired:
    """A server whose wiring the templates of a preview name otherwise than before. before, now: None where the folder
    of servers that was looked in has another wiring, or none."""

    name: str
    before: Server | None
    now: Server | None


@dataclass(frozen=True)
class Evidence:
    """root: the servers of what is previewed. base: those of what it is compared with, where there is such a folder."""

    root: Path = SHIPPED
    base: Path | None = None

    def proof(self, change: Change) -> Proof | None:
        """The proof of the template as it will be; None without one, or where it is not of this wiring."""
        name = change.label(SERVER_LABEL)
        wanted = at(change.new, "spec", "spec")
        if name is None or wanted is None:
            return None
        return _proofs(self.root, name).get((change.label(WIRING_LABEL), _text(wanted)))

    def rewired(self, changes: Iterable[Change]) -> list[Rewired]:
        """The servers whose wiring changes, by name."""
        moved: dict[str, tuple[str | None, str | None]] = {}
        for change in changes:
            name = change.label(SERVER_LABEL) or change.label(SERVER_LABEL, before=True)
            hashes = change.label(WIRING_LABEL, before=True), change.label(WIRING_LABEL)
            if change.kind == TEMPLATE and name and hashes[0] and hashes[1] and hashes[0] != hashes[1]:
                moved[name] = hashes
        return [
            Rewired(name, _wired(self.base, name, before), _wired(self.root, name, now))
            for name, (before, now) in sorted(moved.items())
        ]


@cache
def _server(root: Path, name: str) -> Server | None:
    """The name is a label of a cluster: it must be a folder there, and no path."""
    if not (root / name).is_dir() or Path(name).name != name:
        return None
    try:
        return find_server(str(root / name))
    except (ServerNotFound, TopologyError):
        return None


def _wired(root: Path | None, name: str, wiring: str | None) -> Server | None:
    server = _server(root, name) if root is not None else None
    return server if server is not None and wiring_hash(server) == wiring else None


@cache
def _proofs(root: Path, name: str) -> Mapping[tuple[str | None, str], Proof]:
    """(wiring, spec) → proof, for the server's templates in every driver's words."""
    server = _server(root, name)
    if server is None:
        return {}
    known = read_proofs(proofs_of(str(root / name)))
    found: dict[tuple[str | None, str], Proof] = {}
    for profile in PROFILES.values():
        try:
            templates = compile_templates(server, profile)
        except TopologyError:
            continue
        for template in templates:
            proof = known.get(key(server, template, profile))
            if proof is not None:
                found[(wiring_hash(server), _text(template.spec))] = proof
    return found


def _text(spec: object) -> str:
    return json.dumps(spec, sort_keys=True, default=str)
