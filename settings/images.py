"""What an image reference says about itself."""

from __future__ import annotations

import re


def by_digest(image: str) -> bool:
    """Whether it names one image for ever, and not whatever has its tag."""
    return re.search(r"@sha256:[0-9a-f]{64}$", image) is not None
