"""The image security policy that a guest fetches from the KBS (containers policy v1): who must have signed what."""

from __future__ import annotations

import json
from collections.abc import Mapping


def image_policy(signers: Mapping[str, str]) -> str:
    """The text of the policy: what is not named is refused.

    signers: registry or repository, e.g. "registry.example/team" → URI of the cosign public key, e.g.
    "kbs:///default/cosign-key/1".
    """
    return (
        json.dumps(
            {
                "default": [{"type": "reject"}],
                "transports": {
                    "docker": {
                        scope: [{"type": "sigstoreSigned", "keyPath": key}] for scope, key in sorted(signers.items())
                    }
                },
            },
            indent=2,
        )
        + "\n"
    )
