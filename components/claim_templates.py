"""`ClaimTemplates`: the compiled templates, in each namespace whose pods may use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.labels import MANAGED
from topology.template import Template


@dataclass(frozen=True, kw_only=True)
class ClaimTemplatesArgs:
    """namespaces: where every template is published. create_namespaces: whether they are made, or there already.

    protect_namespaces: whether pulumi refuses to delete those it made. after: what every template waits for, the
    DeviceClasses; as a plain option of the component it would not reach the templates. ValueError where two templates
    share a name.
    """

    templates: Sequence[Template]
    namespaces: Sequence[str]
    create_namespaces: bool = False
    protect_namespaces: bool = True
    after: Sequence[pulumi.Resource] = ()

    def __post_init__(self) -> None:
        names = [template.name for template in self.templates]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two templates have the same name: {', '.join(twice)}")


class ClaimTemplates(pulumi.ComponentResource):
    """published: "<namespace>/<template>" → "<namespace>/<name of the object>", known before anything is created.

    A template's object has the template's name, and its name in Pulumi is "<component>-<namespace>/<template>": both
    stay the same however the template changes, so that users' pods and this stack's history keep their hold on it.

    The API server refuses every change of a template's spec, and the provider does not know that. So a changed spec is
    a replacement, and, the name being the same, the old object goes first. In between, a new pod that names it waits;
    pods that have their claim keep it.
    """

    published: Mapping[str, str]

    def __init__(self, name: str, args: ClaimTemplatesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:ClaimTemplates", name, None, opts)
        published: dict[str, str] = {}
        for namespace in args.namespaces:
            after = [*args.after, *self._namespaces(name, namespace, args)]
            for template in args.templates:
                # Between namespace and template a character that neither can have: no two can get the same name.
                self._template(f"{name}-{namespace}/{template.name}", namespace, template, after)
                # Not the object's output: in the preview of a replacement the provider invents a name there.
                published[f"{namespace}/{template.name}"] = f"{namespace}/{template.name}"
        self.published = published
        self.register_outputs({"published": self.published})

    def _namespaces(self, name: str, namespace: str, args: ClaimTemplatesArgs) -> list[pulumi.Resource]:
        if not args.create_namespaces:
            return []
        return [
            kubernetes.core.v1.Namespace(
                f"{name}-{namespace}",
                metadata=kubernetes.meta.v1.ObjectMetaArgs(name=namespace, labels=MANAGED),
                opts=pulumi.ResourceOptions(parent=self, protect=args.protect_namespaces),
            )
        ]

    def _template(self, name: str, namespace: str, template: Template, after: Sequence[pulumi.Resource]) -> None:
        manifest = template.manifest(namespace)
        kubernetes.resource.v1.ResourceClaimTemplate(
            name,
            metadata=manifest["metadata"],
            spec=manifest["spec"],
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=after, replace_on_changes=["spec"], delete_before_replace=True
            ),
        )
