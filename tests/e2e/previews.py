"""What a preview says will be done."""

from __future__ import annotations

import json


def steps(preview: str) -> dict[str, str]:
    """Name in Pulumi → what will be done with it, where that is anything. preview: the output of `--json`."""
    return {
        step["urn"].rpartition("::")[2]: step["op"]
        for step in json.loads(preview)["steps"]
        if step["op"] not in {"same", "create-replacement", "delete-replaced", "read"}
    }
