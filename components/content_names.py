"""Names that change with the content, so that what refers to them changes too and pods are rolled.

The hash is for everyone to read, so only what is public goes into it. A Secret that is never public is named after the
public half: a private key after its certificate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

DIGITS = 10


def content_name(base: str, public: Mapping[str, str]) -> str:
    """`base` and the first ten hexadecimal digits of the hash of what is public: file → text."""
    text = json.dumps(dict(public), sort_keys=True)
    return f"{base}-{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"
