"""The least a cluster must have for the stand-ins to act: permissive CRDs, the managers, a CcRuntime, a KbsConfig."""

from __future__ import annotations

import copy
from typing import Any

from sandbox.standin import cc_objects, kbs_operator, kube
from sandbox.standin.kbs_reconcile import collection
from sandbox.standin.kube import Kube, Object

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"
KBS_CONFIGS = collection(kbs_operator.NAMESPACE)
GROUP = "confidentialcontainers.org"
IMAGES = {
    "KBS_IMAGE_NAME": "example.org/kbs:all",
    "KBS_IMAGE_NAME_MICROSERVICES": "example.org/kbs:alone",
    "AS_IMAGE_NAME": "example.org/as:1",
    "RVPS_IMAGE_NAME": "example.org/rvps:1",
}


def crd(plural: str, kind: str, version: str, scope: str) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [served],
        },
    }


CC_CRD = crd("ccruntimes", "CcRuntime", "v1beta1", "Cluster")
KBS_CRD = crd("kbsconfigs", "KbsConfig", "v1alpha1", "Namespaced")


def manager(namespace: str, name: str, env: dict[str, str]) -> Object:
    values = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": "manager", "image": "example.org/manager:1", "env": values}
    labels = {"control-plane": "controller-manager"}
    spec = {"serviceAccountName": name, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def cc_rules() -> list[Object]:
    every = ["get", "list", "watch", "create", "update", "patch", "delete"]
    return [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "update"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "update", "watch"]},
        {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": every},
        {"apiGroups": [GROUP], "resources": ["ccruntimes"], "verbs": every},
        {"apiGroups": [GROUP], "resources": ["ccruntimes/finalizers"], "verbs": ["update"]},
        {"apiGroups": [GROUP], "resources": ["ccruntimes/status"], "verbs": ["get", "patch", "update"]},
        {"apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"], "verbs": every},
    ]


def kbs_rules() -> list[Object]:
    every = ["get", "list", "watch", "create", "update", "patch", "delete"]
    return [
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "update"]},
        {"apiGroups": [""], "resources": ["services"], "verbs": every},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": every},
        {"apiGroups": [GROUP], "resources": ["kbsconfigs"], "verbs": every},
        {"apiGroups": [GROUP], "resources": ["kbsconfigs/finalizers"], "verbs": ["update"]},
        {"apiGroups": [GROUP], "resources": ["kbsconfigs/status"], "verbs": ["get", "patch", "update"]},
    ]


def install_operator(api: Kube, namespace: str, name: str, rules: list[Object], env: dict[str, str]) -> None:
    """Namespace, ServiceAccount with these rights and no other, Deployment."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    api.create(NAMESPACES, {"metadata": {"name": namespace}})
    api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    api.create(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    api.create(f"{rbac}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    api.create(kube.deployments(namespace), manager(namespace, name, env))


def install_cc(api: Kube) -> None:
    api.create(CRDS, copy.deepcopy(CC_CRD))
    install_operator(api, cc_objects.NAMESPACE, cc_objects.MANAGER, cc_rules(), {})


def install_kbs(api: Kube) -> None:
    api.create(CRDS, copy.deepcopy(KBS_CRD))
    install_operator(api, kbs_operator.NAMESPACE, kbs_operator.MANAGER, kbs_rules(), IMAGES)


def cc_runtime(name: str = "fence", **config: Any) -> Object:
    settings = {
        "installType": "bundle",
        "payloadImage": "example.org/payload:1",
        "installCmd": ["/opt/kata-artifacts/scripts/kata-deploy.sh", "install"],
        "uninstallCmd": ["/opt/kata-artifacts/scripts/kata-deploy.sh", "cleanup"],
        "cleanupCmd": ["/opt/kata-artifacts/scripts/kata-deploy.sh", "reset"],
        "installDoneLabel": {"katacontainers.io/kata-runtime": "true"},
        "uninstallDoneLabel": {"katacontainers.io/kata-runtime": "cleanup"},
        "runtimeClasses": [
            {"name": "kata-qemu", "snapshotter": "", "pulltype": ""},
            {"name": "kata-qemu-virtcca", "snapshotter": "nydus", "pulltype": "guest-pull"},
        ],
        "defaultRuntimeClassName": "kata-qemu",
        "preInstall": {"image": "example.org/reqs:1"},
        "postUninstall": {"image": "example.org/reqs:1"},
    }
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "CcRuntime",
        "metadata": {"name": name},
        "spec": {"runtimeName": "kata", "config": settings | config},
    }


def kbs_config(**spec: Any) -> Object:
    settings = {
        "kbsConfigMapName": "kbs-config",
        "kbsAuthSecretName": "auth",
        "kbsRvpsRefValuesConfigMapName": "values",
        "kbsDeploymentType": "AllInOneDeployment",
        "kbsSecretResources": ["tenant"],
    }
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "KbsConfig",
        "metadata": {"name": "kbs", "namespace": kbs_operator.NAMESPACE},
        "spec": settings | spec,
    }
