"""`CcRuntime`: the labels of the confidential nodes, the CcRuntime itself, and a gate that opens when it is ready.

Written for cc-operator 0.13.0. What it makes of a CcRuntime (DaemonSets, changed hosts, RuntimeClasses) is its own and
is read here, never declared: a RuntimeClass declared twice would have two owners.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components import cc_hooks
from components.cluster_view import GROUP, VERSION, ClusterAccess
from components.labels import MANAGED
from settings.cc_presets import (
    CLEANUP,
    HOOK_MOUNTS,
    INSTALL,
    INSTALL_DONE,
    INSTALLER_MOUNTS,
    NAME,
    UNINSTALL,
    UNINSTALL_DONE,
    HostMount,
    RuntimeClass,
)

FIELD_MANAGER = "ringfence-cc-node-label"
DEFAULT_KEY = "node.kubernetes.io/worker"


@dataclass(frozen=True, kw_only=True)
class CcRuntimeArgs:
    """All of these decide shapes or are read by hooks, so they are plain values.

    nodes: names of those to label, at least one. node_label: key and value, of the label and of the selector.
    env: of all installers. tolerations: keys key, operator, value, effect. image_pull_policy: None for the operator's.
    after: what must be there first and go last, the operator. removal: made by cc_hooks.removal; with None a CcRuntime
      is deleted under running pods, and `pulumi destroy` needs no --run-program.
    wait_timeout, delete_timeout: seconds. ValueError where a rule of the operator is broken.
    """

    access: ClusterAccess
    payload_image: str
    pre_install_image: str
    post_uninstall_image: str | None = None
    nodes: Sequence[str]
    runtime_classes: Sequence[RuntimeClass]
    default_runtime_class: str
    node_label: tuple[str, str] = (DEFAULT_KEY, "")
    env: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, str]] = ()
    debug: bool = False
    image_pull_policy: str | None = None
    wait_timeout: int = 1800
    delete_timeout: int = 1800
    after: Sequence[pulumi.Resource] = ()
    removal: pulumi.ResourceHookBinding | None = None

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("nodes is empty: the operator would install nothing, and say nothing")
        if len(set(self.nodes)) < len(self.nodes):
            raise ValueError("nodes names one twice")
        if self.default_runtime_class not in {one.name for one in self.runtime_classes}:
            raise ValueError(f"default_runtime_class {self.default_runtime_class} is not among runtime_classes")


class CcRuntime(pulumi.ComponentResource):
    """runtime_classes: names that pods may use, known before anything is created. ready: what users of the runtime
    depend on: it is made when every node is through, and updated when that had to be waited for again.

    Every field of the spec ends up in DaemonSets that the operator never updates. So a changed spec is a replacement;
    there is one CcRuntime in a cluster and its name stays, so the old one goes first, and with it Kata on every node.
    The list of nodes is not part of the spec: a node more or less changes labels only.
    """

    runtime_classes: tuple[str, ...]
    ready: pulumi.Resource

    def __init__(self, name: str, args: CcRuntimeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:CcRuntime", name, None, opts)
        labels = [self._label(name, node, args) for node in sorted(args.nodes)]
        runtime = kubernetes.apiextensions.CustomResource(
            f"{name}-cc-runtime",
            api_version=f"{GROUP}/{VERSION}",
            kind="CcRuntime",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(name=NAME, labels=MANAGED),
            spec=spec(args),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*args.after, *labels],
                replace_on_changes=["spec"],
                delete_before_replace=True,
                # Its finalizer goes when the last host is restored.
                custom_timeouts=pulumi.CustomTimeouts(delete=f"{args.delete_timeout}s"),
                hooks=args.removal,
            ),
        )
        until_ready = cc_hooks.until_ready(args.access, f"{name}-ready", NAME, sorted(args.nodes), args.wait_timeout)
        metadata: pulumi.Output[Any] = runtime.metadata
        self.ready = pulumi.Stash(
            f"{name}-ready",
            # What has to be waited for: another CcRuntime of the same name, or other nodes.
            input={"uid": metadata.apply(lambda found: found.get("uid", "")), "nodes": sorted(args.nodes)},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[runtime, *labels],
                hooks=pulumi.ResourceHookBinding(before_create=[until_ready], before_update=[until_ready]),
            ),
        )
        self.runtime_classes = tuple(one.name for one in args.runtime_classes)
        self.register_outputs({"runtimeClasses": list(self.runtime_classes)})

    def _label(self, name: str, node: str, args: CcRuntimeArgs) -> pulumi.Resource:
        key, value = args.node_label
        exists = cc_hooks.before_label(args.access, f"{name}-{node}-label", node, args.node_label)
        return kubernetes.core.v1.NodePatch(
            f"{name}-{node}",
            metadata=kubernetes.meta.v1.ObjectMetaPatchArgs(
                name=node,
                labels={key: value},
                # A manager of its own owns this label and nothing else of the node; so much goes again with it.
                # It takes this very annotation from the manager of the label before; whether the label itself is free
                # has been asked.
                annotations={"pulumi.com/patchFieldManager": field_manager(key), "pulumi.com/patchForce": "true"},
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=args.after,
                replace_on_changes=["metadata.labels"],
                hooks=pulumi.ResourceHookBinding(before_create=[exists]),
            ),
        )


def field_manager(key: str) -> str:
    """Of the label with this key. Another is made before the old one goes, and with that goes all its manager has."""
    if key == DEFAULT_KEY:
        return FIELD_MANAGER
    return f"{FIELD_MANAGER}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def spec(args: CcRuntimeArgs) -> dict[str, Any]:
    """The CcRuntime's spec. No field that the operator does not read, but installType, which its schema requires."""
    key, value = args.node_label
    tolerations = [dict(toleration) for toleration in args.tolerations]
    hooks = {"volumes": _volumes(HOOK_MOUNTS), "volumeMounts": _mounts(HOOK_MOUNTS)}
    return {
        "runtimeName": "kata",
        # matchLabels only: the operator ignores matchExpressions.
        "ccNodeSelector": {"matchLabels": {key: value}},
        **({"ccTolerations": tolerations} if tolerations else {}),
        "config": {
            "installType": "bundle",
            "payloadImage": args.payload_image,
            **({"imagePullPolicy": args.image_pull_policy} if args.image_pull_policy else {}),
            "installDoneLabel": dict(INSTALL_DONE),
            "uninstallDoneLabel": dict(UNINSTALL_DONE),
            "installCmd": list(INSTALL),
            "uninstallCmd": list(UNINSTALL),
            "cleanupCmd": list(CLEANUP),
            "installerVolumes": _volumes(INSTALLER_MOUNTS),
            "installerVolumeMounts": _mounts(INSTALLER_MOUNTS),
            "runtimeClasses": [
                {"name": one.name, "snapshotter": one.snapshotter, "pulltype": one.pull_type}
                for one in args.runtime_classes
            ],
            "defaultRuntimeClassName": args.default_runtime_class,
            "debug": args.debug,
            **(
                {"environmentVariables": [{"name": key, "value": text} for key, text in args.env.items()]}
                if args.env
                else {}
            ),
            "preInstall": {"image": args.pre_install_image, **hooks},
            "postUninstall": {"image": args.post_uninstall_image or args.pre_install_image, **hooks},
        },
    }


def _volumes(mounts: Sequence[HostMount]) -> list[dict[str, Any]]:
    return [{"name": one.name, "hostPath": {"path": one.path, "type": one.type}} for one in mounts]


def _mounts(mounts: Sequence[HostMount]) -> list[dict[str, str]]:
    return [{"name": one.name, "mountPath": one.inside} for one in mounts]
