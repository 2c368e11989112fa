"""Classes and templates as resources of a stack: what a change of them does, and in which order they go."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import CLAIM, CLASS, GROUP, TEMPLATE, asked, claim_spec, is_v1
from policy.rules.model import Example, Finding, Group, Rule, Subject

# Kind → the field that the API server refuses to change. Pulumi's provider knows of none of them.
_IMMUTABLE = {TEMPLATE: "spec", CLAIM: "spec", "RuntimeClass": "handler"}
_GROUPS = {TEMPLATE: GROUP, CLAIM: GROUP, "RuntimeClass": "node.k8s.io"}


def _replaced(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    field = _IMMUTABLE.get(subject.kind)
    if field is None or subject.group != _GROUPS[subject.kind] or subject.options is None:
        return
    # Without a name of its own Pulumi gives each object a new one, and can make the new one first.
    if subject.view.at("metadata", "name").absent or subject.options.delete_before_replace:
        return
    yield Finding(
        (field,),
        f"{field} of a {subject.kind} is immutable, which the provider does not know: a change is previewed as an "
        "update and "
        "then refused, or, replaced with its name kept, finds the old object in its place.",
        f'Add replace_on_changes=["{field}"] and delete_before_replace=True to its options.',
    )


_TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: npu-8}}
spec:
  spec:
    devices:
      requests:
      - name: npu
        exactly: {{deviceClassName: npu.huawei.com, count: 8}}
pulumi: {}
"""

REPLACED = Rule(
    id="replaced-not-updated",
    title="An object whose spec is immutable is replaced, the old one going first",
    why="The API server refuses each change of a template's or claim's spec and of a RuntimeClass's handler. The "
    "provider's list of such fields has none of them (pulumi-kubernetes, provider/diff.go). replace_on_changes "
    "cannot be seen by a policy, delete_before_replace can.",
    group=Group.DRIVER,
    remedy="replace_on_changes with delete_before_replace, or a name that follows the content.",
    check=_replaced,
    complies=Example(_TEMPLATE.format("{delete_before_replace: true}")),
    violates=Example(_TEMPLATE.format("{}")),
)


def _after_class(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    if devices is None or subject.options is None:
        return
    wanted = {one.at.at("deviceClassName").text() for one in asked(devices)}
    for other in context.of(CLASS):
        managed = is_v1(other, CLASS) and other.options is not None and other.name in wanted
        if managed and other.key not in subject.options.depends_on:
            yield Finding(
                ("spec",),
                f"It names DeviceClass {other.name} of the same stack and does not depend on it: where the class is "
                "removed or "
                "renamed, templates that still use it may outlive it, and their pods stay Pending.",
                "Add the class to depends_on.",
            )


_AFTER = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: npu-8}}
spec:
  spec:
    devices:
      requests:
      - name: npu
        exactly: {{deviceClassName: npu.huawei.com, count: 8}}
pulumi: {}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: npu.huawei.com}}
spec:
  selectors:
  - cel: {{expression: device.driver == "npu.huawei.com"}}
pulumi: {{}}
"""

AFTER_CLASS = Rule(
    id="template-after-class",
    title="A template depends on the classes of its stack that it names",
    why="Nothing protects a DeviceClass that is in use. With a dependency Pulumi makes it before the templates and "
    "removes it after them.",
    group=Group.DRIVER,
    remedy="depends_on the DeviceClass, or the component that makes it.",
    check=_after_class,
    whole=True,
    complies=Example(_AFTER.format("{depends_on: [npu.huawei.com]}")),
    violates=Example(_AFTER.format("{}")),
)

RULES = (REPLACED, AFTER_CLASS)
