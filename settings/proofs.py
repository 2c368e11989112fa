"""The proofs beside a server's captures: read before anything is deployed, written by `ringfence claims prove`.

They are found by the key of what they prove, so a proof of another wiring, form or promise counts for nothing, whatever
the file says. Tests prove the shipped ones anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from topology.proof import Proof


def read_proofs(path: Path | None) -> Mapping[str, Proof]:
    """key → proof. Nothing where there is no file, or one that cannot be read: then there are no proofs."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8")) if path is not None else []
        proofs = [Proof(**{**row, "worst_state": tuple(row["worst_state"])}) for row in rows]
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return {proof.key: proof for proof in proofs}


def write_proofs(path: Path, proofs: Iterable[Proof]) -> None:
    """The proofs in their order, a line each, so that a change shows as the lines that changed."""
    rows = [json.dumps(asdict(proof)) for proof in proofs]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
