"""What the API server alone tells of a cluster and its nodes, judged as the hosts are. Objects as in the API's JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from components.preflight.judge import Check, version_check
from components.readiness import INSTALLED_LABEL

OLDEST = (1, 24)

Object = Mapping[str, Any]


def judge_cluster(version: str, daemon_sets: Iterable[Object]) -> list[Check]:
    """version: as the server tells it ("v1.32.4"). daemon_sets: those of kube-system.

    confidential-containers' prerequisites: 1.24. A kata-deploy beside the operator's makes an uninstall hang and edits
    the same files (kata-deploy skips its label then).
    """
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        kubernetes = Check("Kubernetes", "unknown", f"it calls itself {version!r}.", "It has to be 1.24 at least.")
    elif (int(found[1]), int(found[2])) < OLDEST:
        kubernetes = Check("Kubernetes", "failed", f"it is {version}, and 1.24 is needed.", "Upgrade it.")
    else:
        kubernetes = Check("Kubernetes", "ok", f"it is {version}.")
    second = sorted(str(one["metadata"]["name"]) for one in daemon_sets if "kata-deploy" in one["metadata"]["name"])
    if second:
        remedy = f"Remove it first: kubectl -n kube-system delete daemonset {second[0]}."
        kata = Check("kata-deploy", "failed", f"DaemonSet {', '.join(second)} is in kube-system.", remedy)
    else:
        kata = Check("kata-deploy", "ok", "there is none of its own in kube-system.")
    return [kubernetes, kata]


def judge_node(node: Object) -> list[Check]:
    """What its kubelet says of it."""
    conditions = {one["type"]: one for one in node.get("status", {}).get("conditions") or ()}
    ready = conditions.get("Ready", {})
    if ready.get("status") == "True":
        checks = [Check("node", "ok", "it is Ready.")]
    else:
        why = str(ready.get("message") or "its kubelet says nothing").rstrip(".")
        checks = [Check("node", "failed", f"it is not Ready: {why}.", "See systemctl status kubelet on the host.")]
    runtime = str(_info(node, "containerRuntimeVersion"))
    name, _, version = runtime.partition("://")
    if name == "containerd":
        checks.append(version_check("containerd", version))
    elif runtime:
        what = f"its kubelet runs containers with {runtime}."
        checks.append(Check("containerd", "failed", what, "Confidential containers of this stack need containerd 1.7."))
    return checks


def is_installed(node: Object) -> bool:
    """Whether kata-deploy has labelled it: what is on its host is then of that installation."""
    return bool((node["metadata"].get("labels") or {}).get(INSTALLED_LABEL) == "true")


def merged(from_api: Iterable[Check], from_host: Iterable[Check]) -> list[Check]:
    """Of a check that both made, the API server's: it knows which containerd runs."""
    first = list(from_api)
    names = {check.name for check in first}
    return first + [check for check in from_host if check.name not in names]


def _info(node: Object, key: str) -> Any:
    return node.get("status", {}).get("nodeInfo", {}).get(key, "")
