"""What both operators of confidential containers consist of: names with a prefix, and the same objects around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.labels import MANAGED
from components.npu_dra_driver import POD_SECURITY
from settings.operator import CrdStrategy

# Upstream's selector, which is immutable: this and never more.
SELECTOR = {"control-plane": "controller-manager"}
LABELS = MANAGED | SELECTOR

ALL = ("create", "delete", "get", "list", "patch", "update", "watch")
READ = ("get", "list", "watch")

Rule = tuple[str, Sequence[str], Sequence[str]]
"""API group, resources, verbs."""

_core = kubernetes.core.v1
_rbac = kubernetes.rbac.v1


@dataclass(frozen=True, kw_only=True)
class OperatorArgs:
    """All of these decide shapes, so they are plain values; only the image and credentials may be outputs.

    image: by digest or tag. namespace: the operator's own; it is made.
    resources: {"requests"|"limits": {"cpu": …}}. tolerations: keys key, operator, value, effect.
    pull_secrets: names of Secrets in the namespace that open the registry. registry_credentials: further ones, which
      are made here: name → .dockerconfigjson. A namespace that does not exist yet has no Secrets.
    crd: "skip" where someone else installed it; the stack then neither changes nor removes it.
    protect_namespace, protect_crd: whether pulumi refuses to delete it, with all that is in it.
    available_within: seconds to wait for the Deployment.
    """

    image: pulumi.Input[str]
    namespace: str
    resources: Mapping[str, Mapping[str, str]]
    tolerations: Sequence[Mapping[str, str]] = ()
    pull_secrets: Sequence[str] = ()
    registry_credentials: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    crd: CrdStrategy = "own"
    protect_namespace: bool = True
    protect_crd: bool = True
    available_within: int = 300

    def __post_init__(self) -> None:
        twice = sorted(set(self.pull_secrets) & set(self.registry_credentials))
        if twice:
            raise ValueError(f"registry_credentials makes what pull_secrets says is there: {', '.join(twice)}")

    @property
    def all_pull_secrets(self) -> list[str]:
        """The names, those that are made here last."""
        return [*self.pull_secrets, *self.registry_credentials]


class OperatorParts:
    """Makes the objects as children of a component. Each object's name has the prefix, its name in Pulumi `name`.

    They are removed in the reverse order of their making: Deployment, RBAC, CRD, namespace.
    """

    def __init__(self, component: pulumi.ComponentResource, name: str, prefix: str, args: OperatorArgs) -> None:
        self.component = component
        self.name = name
        self.prefix = prefix
        self.args = args
        self.namespace = self._namespace()

    def metadata(self, suffix: str, labels: Mapping[str, str] = MANAGED) -> kubernetes.meta.v1.ObjectMetaArgs:
        """Of an object in the operator's namespace."""
        return kubernetes.meta.v1.ObjectMetaArgs(
            name=f"{self.prefix}{suffix}", namespace=self.namespace.metadata.name, labels=dict(labels)
        )

    def options(self, *after: pulumi.Resource, **more: Any) -> pulumi.ResourceOptions:
        """A child that waits for others."""
        return pulumi.ResourceOptions(parent=self.component, depends_on=list(after), **more)

    def _namespace(self) -> kubernetes.core.v1.Namespace:
        return _core.Namespace(
            f"{self.name}-namespace",
            # The manager writes the three of pod security itself when it starts: declared here, it changes nothing.
            metadata=kubernetes.meta.v1.ObjectMetaArgs(name=self.args.namespace, labels=LABELS | POD_SECURITY),
            opts=self.options(protect=self.args.protect_namespace),
        )

    def crd(self, manifest: Mapping[str, Any]) -> list[pulumi.Resource]:
        """The CRD, done once the API server serves it; nothing where someone else installed it.

        In server-side apply, which the provider has to be set to, the size of a CRD does not matter.
        """
        if self.args.crd == "skip":
            return []
        # A manager that starts before it is served complains of a kind that it does not know.
        metadata = manifest["metadata"] | {"annotations": {"pulumi.com/waitFor": "condition=Established"}}
        return [
            kubernetes.apiextensions.v1.CustomResourceDefinition(
                f"{self.name}-crd",
                metadata=metadata,
                spec=manifest["spec"],
                opts=self.options(self.namespace, protect=self.args.protect_crd),
            )
        ]

    def service_account(self) -> kubernetes.core.v1.ServiceAccount:
        """The manager's, with what opens the registry: no field of a custom resource does that."""
        made = [self._credentials(secret, value) for secret, value in self.args.registry_credentials.items()]
        return _core.ServiceAccount(
            f"{self.name}-service-account",
            metadata=self.metadata("controller-manager"),
            image_pull_secrets=self.references(),
            opts=self.options(*made),
        )

    def references(self) -> list[Any] | None:
        """To the pull secrets; None without any, because the server drops an empty list."""
        return [_core.LocalObjectReferenceArgs(name=secret) for secret in self.args.all_pull_secrets] or None

    def _credentials(self, secret: str, value: pulumi.Input[str]) -> pulumi.Resource:
        return _core.Secret(
            f"{self.name}-{secret}",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=secret, namespace=self.namespace.metadata.name, labels=MANAGED
            ),
            type="kubernetes.io/dockerconfigjson",
            # The class marks it as secret itself.
            string_data={".dockerconfigjson": value},
            opts=self.options(),
        )

    def rbac(self, account: kubernetes.core.v1.ServiceAccount, rules: Sequence[Rule]) -> list[pulumi.Resource]:
        """The manager's own rules, and what every manager of this make has besides."""
        leader = [("", ["configmaps"], ALL), ("coordination.k8s.io", ["leases"], ALL), ("", ["events"], _EVENTS)]
        metrics = [
            ("authentication.k8s.io", ["tokenreviews"], ["create"]),
            ("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
        ]
        return [
            *self._cluster_role("manager-role", "manager-rolebinding", rules, account),
            *self._role("leader-election-role", "leader-election-rolebinding", leader, account),
            *self._cluster_role("metrics-auth-role", "metrics-auth-rolebinding", metrics, account),
            # Bound to nobody: for whoever is to read the metrics.
            _rbac.ClusterRole(
                f"{self.name}-metrics-reader",
                metadata=self._everywhere("metrics-reader"),
                rules=[_rbac.PolicyRuleArgs(non_resource_urls=["/metrics"], verbs=["get"])],
                opts=self.options(),
            ),
        ]

    def _everywhere(self, suffix: str) -> kubernetes.meta.v1.ObjectMetaArgs:
        return kubernetes.meta.v1.ObjectMetaArgs(name=f"{self.prefix}{suffix}", labels=MANAGED)

    def _cluster_role(
        self, role: str, binding: str, rules: Sequence[Rule], account: kubernetes.core.v1.ServiceAccount
    ) -> list[pulumi.Resource]:
        made = _rbac.ClusterRole(
            f"{self.name}-{role}", metadata=self._everywhere(role), rules=_rules(rules), opts=self.options()
        )
        bound = _rbac.ClusterRoleBinding(
            f"{self.name}-{binding}",
            metadata=self._everywhere(binding),
            role_ref=_reference("ClusterRole", made.metadata.name),
            subjects=[_subject(account)],
            opts=self.options(),
        )
        return [made, bound]

    def _role(
        self, role: str, binding: str, rules: Sequence[Rule], account: kubernetes.core.v1.ServiceAccount
    ) -> list[pulumi.Resource]:
        made = _rbac.Role(f"{self.name}-{role}", metadata=self.metadata(role), rules=_rules(rules), opts=self.options())
        bound = _rbac.RoleBinding(
            f"{self.name}-{binding}",
            metadata=self.metadata(binding),
            role_ref=_reference("Role", made.metadata.name),
            subjects=[_subject(account)],
            opts=self.options(),
        )
        return [made, bound]

    def deployment(
        self,
        account: kubernetes.core.v1.ServiceAccount,
        arguments: Sequence[str],
        environment: Sequence[kubernetes.core.v1.EnvVarArgs],
        security: kubernetes.core.v1.SecurityContextArgs,
        after: Sequence[pulumi.Resource],
    ) -> kubernetes.apps.v1.Deployment:
        """The manager. It is made last, and pulumi waits until it is available."""
        limit = f"{self.args.available_within}s"
        tolerations: Any = [dict(toleration) for toleration in self.args.tolerations]
        return kubernetes.apps.v1.Deployment(
            f"{self.name}-deployment",
            metadata=self.metadata("controller-manager", LABELS),
            spec=kubernetes.apps.v1.DeploymentSpecArgs(
                replicas=1,
                selector=kubernetes.meta.v1.LabelSelectorArgs(match_labels=SELECTOR),
                template=_core.PodTemplateSpecArgs(
                    metadata=kubernetes.meta.v1.ObjectMetaArgs(labels=LABELS),
                    spec=_core.PodSpecArgs(
                        service_account_name=account.metadata.name,
                        security_context=_core.PodSecurityContextArgs(run_as_non_root=True),
                        termination_grace_period_seconds=10,
                        tolerations=tolerations or None,
                        containers=[self._manager(arguments, environment, security)],
                    ),
                ),
            ),
            opts=self.options(*after, custom_timeouts=pulumi.CustomTimeouts(create=limit, update=limit)),
        )

    def _manager(
        self,
        arguments: Sequence[str],
        environment: Sequence[kubernetes.core.v1.EnvVarArgs],
        security: kubernetes.core.v1.SecurityContextArgs,
    ) -> kubernetes.core.v1.ContainerArgs:
        asked = self.args.resources
        return _core.ContainerArgs(
            name="manager",
            image=self.args.image,
            command=["/manager"],
            args=list(arguments),
            env=list(environment),
            security_context=security,
            liveness_probe=_probe("/healthz", 15, 20),
            readiness_probe=_probe("/readyz", 5, 10),
            resources=_core.ResourceRequirementsArgs(
                requests=dict(asked.get("requests", {})) or None, limits=dict(asked.get("limits", {})) or None
            ),
        )


_EVENTS = ("create", "patch")


def from_field(name: str, path: str) -> kubernetes.core.v1.EnvVarArgs:
    """An environment variable that is a field of the pod."""
    return _core.EnvVarArgs(
        name=name,
        value_from=_core.EnvVarSourceArgs(field_ref=_core.ObjectFieldSelectorArgs(api_version="v1", field_path=path)),
    )


def _rules(rules: Sequence[Rule]) -> list[Any]:
    return [
        _rbac.PolicyRuleArgs(api_groups=[group], resources=list(resources), verbs=list(verbs))
        for group, resources, verbs in rules
    ]


def _reference(kind: str, name: pulumi.Input[str]) -> kubernetes.rbac.v1.RoleRefArgs:
    return _rbac.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind=kind, name=name)


def _subject(account: kubernetes.core.v1.ServiceAccount) -> kubernetes.rbac.v1.SubjectArgs:
    return _rbac.SubjectArgs(kind="ServiceAccount", name=account.metadata.name, namespace=account.metadata.namespace)


def _probe(path: str, delay: int, period: int) -> kubernetes.core.v1.ProbeArgs:
    return _core.ProbeArgs(
        http_get=_core.HTTPGetActionArgs(path=path, port=8081), initial_delay_seconds=delay, period_seconds=period
    )
