"""Operations that a cut-off pulumi had begun and never learned the outcome of.

`pulumi refresh` settles them all but the creations: of those it drops the record, and an object that was created
after all stays in the cluster, known to nobody. (Its --import-pending-creates, as of 3.274, drops them just the same.)
An object of Kubernetes has an id that can be told from its inputs, so its creation can be assumed in the state
instead; the refresh that must follow asks the cluster and drops it again if it is not there.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from sandbox import files

State = dict[str, Any]


def count(checkpoint: Path) -> int:
    """How many operations are pending, from the file of a stack in the backend; 0 if there is no such file."""
    try:
        latest = ((files.read_object(checkpoint) or {}).get("checkpoint") or {}).get("latest") or {}
        return len(latest.get("pending_operations") or [])
    except (OSError, ValueError, AttributeError):
        return 0


def assume_created(exported: State) -> State:
    """The state as `pulumi stack export` prints it, with every pending creation that can be told assumed done.

    What is in the state already keeps what is known of it; the other pending operations are left to `pulumi refresh`.
    """
    state = copy.deepcopy(exported)
    deployment = state["deployment"]
    resources = deployment.setdefault("resources", [])
    known = {(each.get("urn"), each.get("id")) for each in resources}
    left = []
    for operation in deployment.get("pending_operations") or []:
        resource = operation.get("resource") or {}
        found = identity(resource) if operation.get("type") == "creating" else None
        if found is None:
            left.append(operation)
        elif (resource.get("urn"), found) not in known:
            # At the end: whatever it depends on was there before it was begun.
            resources.append({**resource, "id": found, "outputs": resource["inputs"]})
    deployment["pending_operations"] = left
    return state


def identity(resource: State) -> str | None:
    """The id the Kubernetes provider gives an object, `namespace/name` or `name`; None if it cannot be told."""
    if not str(resource.get("type", "")).startswith("kubernetes:"):
        return None
    metadata = (resource.get("inputs") or {}).get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return None
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if isinstance(namespace, str) else str(metadata["name"])
