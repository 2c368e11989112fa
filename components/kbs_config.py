"""`KbsConfig`: the key broker service, from its inputs to a Deployment that is available.

Its operator looks at nothing unless every ConfigMap and Secret that the KbsConfig names is there, and says so nowhere:
all of them are made first. It writes no status either, so what is waited for is the Deployment that it makes.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.kbs_inputs import Input, Kbs, inputs_of, spec_of
from components.kbs_ready import Expected
from components.labels import MANAGED

API_VERSION = "confidentialcontainers.org/v1alpha1"
KIND = "KbsConfig"
NAME = "kbsconfig"

Wait = Callable[[Expected], None]
"""Returns once the KBS is available, raises NotReady if it never is."""


@dataclass(frozen=True, kw_only=True)
class KbsConfigArgs:
    """namespace: the trustee-operator's own; the operator looks at no other. after: what has to be there first, the
    operator with its CRD; what is removed only after the KbsConfig is gone.

    wait: waits until the KBS is available; None does not. delete_timeout: seconds the KbsConfig may take to go.
    hooks: components.kbs_hooks.around, or none.
    """

    namespace: str
    kbs: Kbs
    after: Sequence[pulumi.Resource] = ()
    wait: Wait | None = None
    delete_timeout: int = 120
    hooks: pulumi.ResourceHookBinding | None = None


class KbsConfig(pulumi.ComponentResource):
    """names: role → name of each ConfigMap and Secret whose name tells its content, known before anything is created.

    ready: what those depend on who ask the KBS.

    Another content of those is another object, made before the KbsConfig turns to it and removed after the KBS has; so
    the KBS rolls over by itself. A Secret that guests ask for keeps its name and is changed where it is (the provider
    has to allow that: enable_secret_mutable); the kubelet brings the change to the KBS within a minute or two.
    """

    names: dict[str, str]
    expected: Expected
    ready: pulumi.Resource

    def __init__(self, name: str, args: KbsConfigArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:KbsConfig", name, None, opts)
        inputs = inputs_of(args.kbs)
        self.names = {one.role: one.name for one in inputs}
        self.expected = Expected(frozenset([*self.names.values(), *args.kbs.resources]), args.kbs.replicas)
        made = [self._input(name, one, args) for one in inputs]
        made += [self._resource(name, secret, args) for secret in sorted(args.kbs.resources)]
        spec = spec_of(args.kbs, inputs)
        config = kubernetes.apiextensions.CustomResource(
            f"{name}-custom-resource",
            api_version=API_VERSION,
            kind=KIND,
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=NAME,
                namespace=args.namespace,
                labels=MANAGED,
                # In the foreground, the provider's default, the garbage collector may write to the KbsConfig just when
                # its operator does: that has deleted the Deployment then, fails, and never lets go of the KbsConfig.
                annotations={"pulumi.com/deletionPropagationPolicy": "background"},
            ),
            spec=spec,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[*made, *args.after],
                # The operator reads it only when it creates the Deployment.
                replace_on_changes=["spec.KbsDeploymentSpec.replicas"],
                delete_before_replace=True,
                custom_timeouts=pulumi.CustomTimeouts(delete=f"{args.delete_timeout}s"),
                hooks=args.hooks,
            ),
        )
        self.ready = self._ready(name, config, spec, args)
        self.register_outputs({"names": self.names})

    def _input(self, name: str, one: Input, args: KbsConfigArgs) -> pulumi.Resource:
        metadata = kubernetes.meta.v1.ObjectMetaArgs(name=one.name, namespace=args.namespace, labels=MANAGED)
        opts = pulumi.ResourceOptions(parent=self, depends_on=args.after)
        if one.kind == "ConfigMap":
            return kubernetes.core.v1.ConfigMap(
                f"{name}-{one.role}", metadata=metadata, data=dict(one.files), immutable=True, opts=opts
            )
        return kubernetes.core.v1.Secret(
            f"{name}-{one.role}",
            metadata=metadata,
            data={file: _hidden(text.encode()) for file, text in one.files.items()},
            immutable=True,
            opts=opts,
        )

    def _resource(self, name: str, secret: str, args: KbsConfigArgs) -> pulumi.Resource:
        return kubernetes.core.v1.Secret(
            # Between component and name a character that neither can have: a Secret may be called "auth".
            f"{name}/{secret}",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(name=secret, namespace=args.namespace, labels=MANAGED),
            data={key: _hidden(value) for key, value in args.kbs.resources[secret].items()},
            opts=pulumi.ResourceOptions(parent=self, depends_on=args.after),
        )

    def _ready(
        self, name: str, config: kubernetes.apiextensions.CustomResource, spec: Mapping[str, Any], args: KbsConfigArgs
    ) -> pulumi.Resource:
        """Made when the KBS is available as declared, and again when that had to be waited for again.

        A resource of its own: the wait comes before it is written, so an `up` after one that failed here waits too.
        """
        wait = args.wait
        hooks = None
        if wait is not None:

            async def available(_: pulumi.ResourceHookArgs) -> None:
                # In a thread: other resources go on meanwhile.
                await asyncio.to_thread(wait, self.expected)

            hook = pulumi.ResourceHook(f"{name}-available", available)
            hooks = pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])
        metadata: pulumi.Output[Any] = config.metadata
        return pulumi.Stash(
            f"{name}-ready",
            # What has to be waited for: another KbsConfig of the same name, or another content.
            input={"uid": metadata.apply(lambda found: found.get("uid", "")), "spec": spec},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[config], hooks=hooks),
        )


def _hidden(data: bytes) -> pulumi.Output[str]:
    # The SDK marks the data of a Secret as well; that it does is not relied on.
    return pulumi.Output.secret(base64.b64encode(data).decode())
