"""What of a workload is measured into its realm's initial measurement (RIM), and what to say when it changes.

Only virtCCA's measurement is known (openeuler/virtCCA_sdk attestation/rim_ref): CVM parameters, kernel, device tree
with boot arguments, memory, CPUs and devices, and an entry for each vCPU; neither the root filesystem nor the image.
The value itself cannot be computed here: that takes QEMU and the guest's kernel.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pulumi

ANNOTATION = "ringfence.dev/rim-inputs"
HASH_ANNOTATION = "ringfence.dev/rim-inputs-hash"


def canonical(inputs: Mapping[str, Any]) -> str:
    """The inputs as one line of JSON, the same for the same inputs."""
    return json.dumps(inputs, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def fingerprint(inputs: Mapping[str, Any]) -> str:
    """16 hexadecimal digits. Not the RIM, but it changes where the RIM does."""
    return hashlib.sha256(canonical(inputs).encode()).hexdigest()[:16]


def notice(workload: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """What to tell about a change, None if nothing measured changes."""
    changed = [
        f"{name}: {_shown(before.get(name))} → {_shown(after.get(name))}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    if not changed:
        return None
    return "\n  ".join(
        [
            f"{workload}: reference values must be recomputed, or its new pods get no key. What is measured changes:",
            *changed,
            "Compute the RIM anew (virtCCA: gen_rim_ref) and add it to the key broker's reference values first; "
            "take the old one out once the last old pod is gone.",
        ]
    )


def telling(hook_name: str, workload: str) -> pulumi.ResourceHook:
    """For before_update of the Deployment: tells it, in preview too."""

    def hook(args: pulumi.ResourceHookArgs) -> None:
        said = notice(workload, _recorded(args.old_inputs), _recorded(args.new_inputs))
        if said is not None:
            pulumi.log.warn(said)

    return pulumi.ResourceHook(hook_name, hook, pulumi.ResourceHookOptions(on_dry_run=True))


def _recorded(deployment: Mapping[str, Any] | None) -> Mapping[str, Any]:
    annotations = ((deployment or {}).get("metadata") or {}).get("annotations") or {}
    text = annotations.get(ANNOTATION)
    found: Mapping[str, Any] = json.loads(text) if isinstance(text, str) else {}
    return found


def _shown(value: Any) -> str:
    return "nothing" if value in (None, "", [], {}) else value if isinstance(value, str) else json.dumps(value)
