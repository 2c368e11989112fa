"""The Deployment and the Service of trustee-operator, from a KbsConfig."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.standin import kube
from sandbox.standin.kube import Object

NAME = "trustee-deployment"
SERVICE = "kbs-service"
LABELS = {"app": "kbs"}
PORT = 8080

ALL_IN_ONE = "AllInOneDeployment"

_WORK = "/opt/confidential-containers"
_HARDENED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


class UnnamedError(Exception):
    """The KbsConfig leaves out a name without which the operator does nothing."""


@dataclass(frozen=True)
class Volume:
    """kind, source: "configmaps" or "secrets" and the name, both empty for memory. containers: who mounts it."""

    name: str
    kind: str
    source: str
    path: str
    containers: tuple[str, ...] = ("kbs",)
    sub_path: str = ""


def volumes(spec: Mapping[str, Any]) -> Iterator[Volume]:
    """All volumes of the pod in order. UnnamedError at the first that the KbsConfig had to name."""
    alone = spec.get("kbsDeploymentType") == ALL_IN_ONE

    def config(name: str, key: str, path: str, containers: tuple[str, ...] = ("kbs",), sub_path: str = "") -> Volume:
        return _named(name, "configmaps", spec.get(key), path, containers, sub_path)

    yield Volume("confidential-containers", "", "", _WORK)
    yield Volume("default", "", "", f"{_WORK}/kbs/repository/default")
    yield config("kbs-config", "kbsConfigMapName", "/etc/kbs-config")
    if spec.get("kbsAttestationPolicyConfigMapName"):
        key = "default_cpu.rego"
        path = f"{_WORK}/attestation-service/policies/opa/{key}"
        yield config("attestation-policy", "kbsAttestationPolicyConfigMapName", path, ("kbs" if alone else "as",), key)
    if spec.get("kbsResourcePolicyConfigMapName"):
        yield config("opa", "kbsResourcePolicyConfigMapName", f"{_WORK}/opa")
    yield _named("auth-secret", "secrets", spec.get("kbsAuthSecretName"), "/etc/auth-secret")
    for entry in spec.get("kbsLocalCertCacheSpec", {}).get("secrets", []):
        path = entry.get("mountPath") or "/etc/kbs/certs"
        yield _named(entry["secretName"], "secrets", entry["secretName"], path)
    if spec.get("kbsHttpsKeySecretName") and spec.get("kbsHttpsCertSecretName"):
        yield _named("https-key", "secrets", spec["kbsHttpsKeySecretName"], "/etc/https-key")
        yield _named("https-cert", "secrets", spec["kbsHttpsCertSecretName"], "/etc/https-cert")
    for name in spec.get("kbsSecretResources", []):
        yield _named(name, "secrets", name, f"{_WORK}/kbs/repository/default/{name}")
    path = f"{_WORK}/rvps/reference-values"
    yield config("reference-values", "kbsRvpsRefValuesConfigMapName", path, ("kbs" if alone else "rvps",))
    if not alone:
        yield config("as-config", "kbsAsConfigMapName", "/etc/as-config", ("as",))
        yield config("rvps-config", "kbsRvpsConfigMapName", "/etc/rvps-config", ("rvps",))


def deployment(cr: Object, images: Mapping[str, str], env: list[Object]) -> Object:
    """images: the operator's environment. env: of every container. Nobody owns it, and it asks for no resources."""
    spec = cr["spec"]
    template = {"metadata": {"labels": LABELS}, "spec": _pod(spec, images, env)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": cr["metadata"]["namespace"]},
        "spec": {
            "replicas": spec.get("KbsDeploymentSpec", {}).get("replicas", 1),
            "selector": {"matchLabels": LABELS},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": template,
        },
    }


def service(cr: Object) -> Object:
    """Owned by the KbsConfig."""
    port = {"name": "kbs-port", "protocol": "TCP", "port": PORT, "targetPort": PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": SERVICE,
            "namespace": cr["metadata"]["namespace"],
            "ownerReferences": [kube.owner(cr)],
        },
        "spec": {"type": cr["spec"].get("kbsServiceType") or "ClusterIP", "selector": LABELS, "ports": [port]},
    }


def _named(
    name: str, kind: str, source: str | None, path: str, containers: tuple[str, ...] = ("kbs",), sub_path: str = ""
) -> Volume:
    if not source:
        raise UnnamedError(f"no name was given for volume {name}")
    return Volume(name, kind, source, path, containers, sub_path)


def _pod(spec: Mapping[str, Any], images: Mapping[str, str], env: list[Object]) -> Object:
    wanted = list(volumes(spec))
    alone = spec.get("kbsDeploymentType") == ALL_IN_ONE
    kbs = images.get("KBS_IMAGE_NAME" if alone else "KBS_IMAGE_NAME_MICROSERVICES", "")
    containers = [
        _container("kbs", kbs, PORT, ["/usr/local/bin/kbs", "--config-file", "/etc/kbs-config/kbs-config.toml"])
    ]
    if not alone:
        socket = ["--socket", "0.0.0.0:50004", "--config-file", "/etc/as-config/as-config.json"]
        containers += [
            _container("as", images.get("AS_IMAGE_NAME", ""), 50004, ["/usr/local/bin/grpc-as", *socket]),
            _container(
                "rvps",
                images.get("RVPS_IMAGE_NAME", ""),
                50003,
                ["/usr/local/bin/rvps", "-c", "/etc/rvps-config/rvps-config.json"],
            ),
        ]
    for container in containers:
        mounts = [_mount(volume) for volume in wanted if container["name"] in volume.containers]
        container |= {"volumeMounts": mounts, "env": env}
    return {"containers": containers, "volumes": [_volume(volume) for volume in wanted]}


def _container(name: str, image: str, port: int, command: list[str]) -> Object:
    ports = [{"name": name, "containerPort": port}]
    return {"name": name, "image": image, "command": command, "ports": ports, "securityContext": _HARDENED}


def _mount(volume: Volume) -> Object:
    mount = {"name": volume.name, "mountPath": volume.path}
    return mount | ({"subPath": volume.sub_path} if volume.sub_path else {})


def _volume(volume: Volume) -> Object:
    if volume.kind == "configmaps":
        return {"name": volume.name, "configMap": {"name": volume.source}}
    if volume.kind == "secrets":
        return {"name": volume.name, "secret": {"secretName": volume.source}}
    return {"name": volume.name, "emptyDir": {"medium": "Memory"}}
