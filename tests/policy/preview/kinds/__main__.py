"""A stack before and after one change of each kind. Every Secret here is made up, and none may reach a report."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config()
after = config.require_bool("after")
context = config.require("context")
broken = config.get_bool("broken")

cluster = kubernetes.Provider(
    "cluster", context=context, cluster_identifier=context, enable_secret_mutable=True, enable_server_side_apply=True
)
moved = kubernetes.Provider("moved", context=context, cluster_identifier="b" if after else "a")


def there(**options: Any) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=cluster, **options)


def meta(name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def crd(
    plural: str, kind: str, group: str, version: str, scope: str
) -> kubernetes.apiextensions.v1.CustomResourceDefinition:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return kubernetes.apiextensions.v1.CustomResourceDefinition(
        f"crd-{plural}",
        metadata={**meta(f"{plural}.{group}"), "annotations": {"pulumi.com/waitFor": "condition=Established"}},
        spec={
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": scope,
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
        opts=there(),
    )


COCO = "confidentialcontainers.org"
fence = kubernetes.core.v1.Namespace("fence", metadata=meta("fence"), opts=there())
runtimes = crd("ccruntimes", "CcRuntime", COCO, "v1beta1", "Cluster")
kbs_configs = crd("kbsconfigs", "KbsConfig", COCO, "v1alpha1", "Namespaced")

kubernetes.apiextensions.CustomResource(
    "runtime",
    api_version=f"{COCO}/v1beta1",
    kind="CcRuntime",
    metadata=meta("ccruntime"),
    spec={
        "runtimeName": "kata",
        "ccNodeSelector": {"matchLabels": {"example.com/confidential": ""}},
        "config": {
            "installType": "bundle",
            "payloadImage": "registry.example/payload:0.14" if after else "registry.example/payload:0.13",
            "environmentVariables": [{"name": "AGENT_HTTPS_PROXY", "value": "http://u:hunter2-proxy@proxy"}],
        },
    },
    opts=there(depends_on=[runtimes], replace_on_changes=["spec"], delete_before_replace=True),
)

settings = kubernetes.core.v1.ConfigMap(
    "kbs-config",
    metadata=meta("kbs-config-2222" if after else "kbs-config-1111", "fence"),
    data={"kbs-config.toml": "token = 'hunter2-toml-after'" if after else "token = 'hunter2-toml'"},
    immutable=True,
    opts=there(depends_on=[fence]),
)
kubernetes.apiextensions.CustomResource(
    "kbs",
    api_version=f"{COCO}/v1alpha1",
    kind="KbsConfig",
    metadata=meta("kbsconfig", "fence"),
    spec={"kbsConfigMapName": "kbs-config-2222" if after else "kbs-config-1111", "kbsServiceType": "ClusterIP"},
    opts=there(depends_on=[kbs_configs, settings]),
)
kubernetes.core.v1.Secret(
    "tenant-key",
    metadata=meta("tenant-key", "fence"),
    string_data={"key": "hunter2-tenant-after" if after else "hunter2-tenant"},
    opts=there(depends_on=[fence]),
)
kubernetes.apps.v1.Deployment(
    "workload",
    metadata=meta("workload", "fence", annotations={"pulumi.com/skipAwait": "true"}),
    spec={
        "replicas": 2,
        "selector": {"matchLabels": {"app": "workload"}},
        "template": {
            "metadata": {
                "labels": {"app": "workload"},
                "annotations": {"ringfence.dev/rim-inputs": "hash-2" if after else "hash-1"},
            },
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/app:2" if after else "registry.example/app:1",
                        "env": [{"name": "API_TOKEN", "value": "hunter2-env-after" if after else "hunter2-env"}],
                    }
                ]
            },
        },
    },
    opts=there(depends_on=[fence]),
)

kubernetes.apps.v1.DaemonSet(
    "driver",
    metadata=meta("npu-dra-plugin", "fence", annotations={"pulumi.com/skipAwait": "true"}),
    spec={
        "selector": {"matchLabels": {"app.kubernetes.io/component": "kubeletplugin"}},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%" if after else 1}},
        "template": {
            "metadata": {"labels": {"app.kubernetes.io/component": "kubeletplugin"}},
            "spec": {
                "nodeSelector": {"accelerator": "npu" if after else "none"},
                "containers": [{"name": "plugin", "image": f"registry.example/plugin:{2 if after else 1}"}],
            },
        },
    },
    opts=there(depends_on=[fence]),
)


def device_class(name: str, expression: str) -> None:
    kubernetes.resource.v1.DeviceClass(
        f"class-{name}",
        metadata=meta(name),
        spec={"selectors": [{"cel": {"expression": expression}}]},
        opts=there(),
    )


device_class("npu.example", f"device.driver == 'npu.example'{' && true' if after else ''}")

if after:
    kubernetes.core.v1.ServiceAccount("account", metadata=meta("added", "fence"), opts=there(depends_on=[fence]))
else:
    old = kubernetes.core.v1.Namespace("old-team", metadata=meta("old-team"), opts=there())
    kubernetes.core.v1.ConfigMap(
        "old-note", metadata=meta("note", "old-team"), data={"a": "hunter2-note"}, opts=there(depends_on=[old])
    )
    widgets = crd("widgets", "Widget", "example.test", "v1", "Cluster")
    kubernetes.apiextensions.CustomResource(
        "widget", api_version="example.test/v1", kind="Widget", metadata=meta("w"), opts=there(depends_on=[widgets])
    )
    device_class("gone.example", "device.driver == 'gone.example'")
    kubernetes.core.v1.NodePatch(
        "label-box16", metadata=meta("box16", labels={"example.com/confidential": ""}), opts=there()
    )
    kubernetes.node.v1.RuntimeClass("class", metadata=meta("kata-gone"), handler="kata-gone", opts=there())
    policy = kubernetes.admissionregistration.v1.ValidatingAdmissionPolicy(
        "fence-policy",
        metadata=meta("own-slices"),
        spec={
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}
                ]
            },
            "validations": [{"expression": "true"}],
        },
        opts=there(),
    )

kubernetes.core.v1.ConfigMap(
    "elsewhere",
    metadata=meta("elsewhere", "default"),
    data={"a": "b"},
    opts=pulumi.ResourceOptions(provider=moved),
)

if broken:
    # A rule is broken, and one cannot be decided: the image is known only after `up`.
    late = kubernetes.core.v1.ServiceAccount("late", metadata=meta("late", "fence"), opts=there(depends_on=[fence]))
    for name, image in (
        ("floating", "registry.example/app"),
        ("late", late.metadata.uid.apply(lambda uid: f"app:{uid}")),
    ):
        kubernetes.core.v1.Pod(
            f"pod-{name}",
            metadata=meta(name, "fence"),
            spec={"containers": [{"name": "main", "image": image}]},
            opts=there(depends_on=[fence]),
        )
