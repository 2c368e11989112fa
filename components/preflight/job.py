"""The Job that runs the script on one node: it reads the host's files and may do nothing else."""

from __future__ import annotations

import hashlib
from typing import Any

from components.labels import MANAGED
from components.preflight.facts import script

HOST = "/host"
CONTAINER = "facts"
COMPONENT = {"app.kubernetes.io/component": "preflight"}


def spec(node: str, image: str, timeout: int) -> dict[str, Any]:
    """The spec of a Job. timeout: seconds after which Kubernetes ends it.

    As root, since files of the host belong to root, but without any capability, and with nothing to write to. It is
    bound to the node by name, past scheduler and taints: a host is looked at before it is fit for pods.
    """
    return {
        "backoffLimit": 0,
        "activeDeadlineSeconds": timeout,
        "template": {
            "metadata": {"labels": MANAGED | COMPONENT},
            "spec": {
                "nodeName": node,
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "tolerations": [{"operator": "Exists"}],
                "containers": [
                    {
                        "name": CONTAINER,
                        "image": image,
                        "command": ["sh", "-c", script(), "sh", HOST],
                        "securityContext": {
                            "runAsUser": 0,
                            "privileged": False,
                            "allowPrivilegeEscalation": False,
                            "readOnlyRootFilesystem": True,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        "resources": {
                            "requests": {"cpu": "50m", "memory": "32Mi"},
                            "limits": {"cpu": "500m", "memory": "64Mi"},
                        },
                        "volumeMounts": [{"name": "host", "mountPath": HOST, "readOnly": True}],
                    }
                ],
                "volumes": [{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}],
            },
        },
    }


def name_for(node: str, mark: str) -> str:
    """A name for the node's Job, never longer than a label. mark: what makes another Job of it, such as its inputs."""
    digest = hashlib.sha256(f"{node}\n{mark}".encode()).hexdigest()[:10]
    short = node.replace(".", "-")[:36].rstrip("-")
    return f"preflight-{short}-{digest}"
