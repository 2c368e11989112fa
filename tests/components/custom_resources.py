"""What the real CRDs take, written down from the operators' own, independently of our models; and a whole example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Field → its type; [] for each entry of a list. Types of Kubernetes itself by their names.
_HOOK = {
    "image": "string",
    "cmd": "[string]",
    "environmentVariables": "[EnvVar]",
    "volumes": "[Volume]",
    "volumeMounts": "[VolumeMount]",
}
_CONFIG = {
    "installType": "string",
    "payloadImage": "string",
    "imagePullPolicy": "string",
    "imagePullSecret": "LocalObjectReference",
    "installCmd": "[string]",
    "uninstallCmd": "[string]",
    "cleanupCmd": "[string]",
    "installDoneLabel": "{string}",
    "uninstallDoneLabel": "{string}",
    "installerVolumes": "[Volume]",
    "installerVolumeMounts": "[VolumeMount]",
    "runtimeClasses[].name": "string",
    "runtimeClasses[].snapshotter": "string",
    "runtimeClasses[].pulltype": "string",
    "defaultRuntimeClassName": "string",
    "environmentVariables": "[EnvVar]",
    "debug": "boolean",
    **{f"preInstall.{key}": value for key, value in _HOOK.items()},
    **{f"postUninstall.{key}": value for key, value in _HOOK.items()},
    "osNativeRepo": "string",
    "runtimeImage": "string",
    "guestKernelImage": "string",
    "guestInitrdImage": "string",
}
CC_RUNTIME: Mapping[str, str] = {
    "spec.runtimeName": "string",
    "spec.ccNodeSelector": "LabelSelector",
    "spec.ccTolerations": "[Toleration]",
    **{f"spec.config.{key}": value for key, value in _CONFIG.items()},
    "status.runtimeClass": "string",
    "status.runtimeName": "string",
    "status.totalNodesCount": "integer",
    "status.upgradeStatus": "{}",
    **{
        f"status.{stage}.{key}": value
        for stage, nodes in (
            ("installationStatus", "binariesInstallNodesList"),
            ("unInstallationStatus", "binariesUninstallNodesList"),
        )
        for key, value in {
            "completed.completedNodesCount": "integer",
            "completed.completedNodesList": "[string]",
            "failed.failedNodesCount": "integer",
            "failed.failedNodesList[].name": "string",
            "failed.failedNodesList[].error": "string",
            "inProgress.inProgressNodesCount": "integer",
            f"inProgress.{nodes}": "[string]",
        }.items()
    },
}
CC_RUNTIME_REQUIRED = {
    "spec.runtimeName",
    "spec.config",
    "spec.config.installType",
    "spec.config.payloadImage",
    "spec.config.runtimeClasses[].name",
    "spec.config.runtimeClasses[].snapshotter",
    "spec.config.runtimeClasses[].pulltype",
    "status.runtimeClass",
    "status.runtimeName",
    "status.totalNodesCount",
    "status.installationStatus.failed.failedNodesList[].name",
    "status.installationStatus.failed.failedNodesList[].error",
    "status.unInstallationStatus.failed.failedNodesList[].name",
    "status.unInstallationStatus.failed.failedNodesList[].error",
}
CC_RUNTIME_ENUMS = {
    "spec.runtimeName": ["kata", "enclave-cc"],
    "status.runtimeName": ["kata", "enclave-cc"],
    "spec.config.installType": ["bundle", "osnative"],
}
CC_RUNTIME_DEAD = {
    "spec.ccNodeSelector.matchExpressions",
    "spec.config.installType",
    "spec.config.imagePullSecret",
    "spec.config.preInstall.cmd",
    "spec.config.postUninstall.cmd",
    "spec.config.osNativeRepo",
    "spec.config.runtimeImage",
    "spec.config.guestKernelImage",
    "spec.config.guestInitrdImage",
    "status.upgradeStatus",
}

KBS_CONFIG: Mapping[str, str] = {
    **dict.fromkeys(
        (
            f"spec.{name}"
            for name in (
                "kbsConfigMapName",
                "kbsAuthSecretName",
                "kbsRvpsRefValuesConfigMapName",
                "kbsDeploymentType",
                "kbsAsConfigMapName",
                "kbsRvpsConfigMapName",
                "kbsServiceType",
                "kbsHttpsKeySecretName",
                "kbsHttpsCertSecretName",
                "kbsAttestationPolicyConfigMapName",
                "kbsResourcePolicyConfigMapName",
                "tdxConfigSpec.kbsTdxConfigMapName",
                "ibmSEConfigSpec.certStorePvc",
                "kbsLocalCertCacheSpec.secrets[].secretName",
                "kbsLocalCertCacheSpec.secrets[].mountPath",
            )
        ),
        "string",
    ),
    "spec.kbsSecretResources": "[string]",
    "spec.KbsEnvVars": "{string}",
    "spec.KbsDeploymentSpec.replicas": "integer",
    "status.isReady": "boolean",
}
KBS_CONFIG_REQUIRED = {"spec.kbsLocalCertCacheSpec.secrets[].secretName"}
KBS_CONFIG_ENUMS = {"spec.kbsDeploymentType": ["AllInOneDeployment", "MicroservicesDeployment"]}
KBS_CONFIG_DEAD = {"status.isReady"}

# Values that differ from every default, so that what is dropped or replaced shows.
EXAMPLES: Mapping[str, Any] = {
    "string": "text",
    "boolean": True,
    "integer": 3,
    "{}": {},
    "EnvVar": {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": True}}},
    "LabelSelector": {
        "matchLabels": {"node.kubernetes.io/worker": ""},
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
    },
    "LocalObjectReference": {"name": "registry"},
    "Toleration": {
        "key": "a",
        "operator": "Equal",
        "value": "b",
        "effect": "NoExecute",
        "tolerationSeconds": 2**40,
    },
    "Volume": {"name": "host", "hostPath": {"path": "/host/", "type": "DirectoryOrCreate"}},
    "VolumeMount": {"name": "host", "mountPath": "/host/", "readOnly": True, "mountPropagation": "Bidirectional"},
}


def example(fields: Mapping[str, str], enums: Mapping[str, list[str]]) -> dict[str, Any]:
    """An object in which every field of the table has a value."""
    whole: dict[str, Any] = {}
    for path, kind in fields.items():
        put(whole, path, enums[path][-1] if path in enums else value_of(kind))
    return whole


def value_of(kind: str) -> Any:
    """A value of a type of the table."""
    if kind.startswith("["):
        return [value_of(kind[1:-1])]
    if kind.startswith("{") and kind != "{}":
        return {"key": value_of(kind[1:-1])}
    return EXAMPLES[kind]


def put(whole: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at a path, making what leads to it; a list has one entry."""
    at = whole
    *steps, last = path.split(".")
    for step in steps:
        at = at.setdefault(step[:-2], [{}])[0] if step.endswith("[]") else at.setdefault(step, {})
    at[last] = value


def take(whole: dict[str, Any], path: str) -> None:
    """Remove the field at a path."""
    at = whole
    *steps, last = path.split(".")
    for step in steps:
        at = at[step[:-2]][0] if step.endswith("[]") else at[step]
    del at[last]
