"""The labels by which what the stack made is told from what it did not."""

from __future__ import annotations

MANAGED = {"app.kubernetes.io/managed-by": "ringfence"}
