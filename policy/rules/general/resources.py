"""Resources of a stack: by which provider, protected against what, in which order."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Rule, Subject
from policy.rules.speak import listed

_CRD = "CustomResourceDefinition"


def _provider(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    options = subject.options
    if options is not None and options.provider is not None and options.provider.startswith("default"):
        yield Finding(
            (),
            "It is made by the default provider, in whatever cluster the kubeconfig's current context happens to be.",
            "Make a kubernetes.Provider with the cluster's context and pass it, or set "
            "pulumi:disable-default-providers.",
        )


_NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {{name: npu-dra-driver}}
pulumi: {}
"""

PROVIDER = Rule(
    id="explicit-provider",
    title="Every object has an explicit provider",
    why="The default provider follows kubectl's current context: who switched it for something else deploys there.",
    group=Group.GENERAL,
    remedy="An explicit provider, and pulumi:disable-default-providers: [kubernetes].",
    check=_provider,
    complies=Example(_NAMESPACE.format("{provider: cluster, protect: true}")),
    violates=Example(_NAMESPACE.format("{provider: default_4_34_2, protect: true}")),
)


def _protected(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    namespace = subject.kind == "Namespace" and subject.api_version == "v1"
    crd = subject.kind == _CRD and subject.group == "apiextensions.k8s.io"
    if (namespace or crd) and subject.options is not None and not subject.options.protect:
        what = "everything in it" if namespace else "every object of its kind in the cluster"
        yield Finding(
            (),
            f"Deleting or replacing it removes {what}, which no preview shows.",
            "Add protect=True: in a ringfence stack, cluster.protectNamespaces: true.",
        )


PROTECTED = Rule(
    id="protected",
    title="Namespaces and CustomResourceDefinitions are protected",
    why="What is in a namespace, and the objects of a CRD, go with it by the API server's own hand, outside the "
    "graph that a preview shows (pulumi-kubernetes#531, #2882).",
    group=Group.GENERAL,
    remedy="protect=True.",
    check=_protected,
    complies=Example(_NAMESPACE.format("{protect: true, provider: cluster}")),
    violates=Example(_NAMESPACE.format("{protect: false, provider: cluster}")),
)


def _operators(context: Context, crd: Subject) -> list[Subject]:
    """Deployments that wait for the CRD, or, where none does, those that by their name serve its group."""
    deployments = [one for one in context.of("Deployment") if one.options is not None]
    waiting = [one for one in deployments if one.options is not None and crd.key in one.options.depends_on]
    return waiting or [one for one in deployments if "operator" in one.name or "controller-manager" in one.name]


def _order(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.options is None:
        return
    for crd in context.of(_CRD):
        names = crd.view.at("spec", "names", "kind").text()
        if crd.view.at("spec", "group").text() != subject.group or names != subject.kind:
            continue
        if crd.key not in subject.options.depends_on:
            yield Finding(
                (),
                f"It is of a kind that {crd} of this stack defines and does not depend on it: it may be sent before "
                "the kind is "
                "known, and be left behind when it goes.",
                "Add the CustomResourceDefinition to depends_on.",
            )
        operators = _operators(context, crd)
        if operators and not any(one.key in subject.options.depends_on for one in operators):
            yield Finding(
                (),
                f"It does not depend on its operator, {listed(str(one) for one in operators)}: on destroy the operator "
                "may go "
                "first, and then nobody removes this object's finalizer.",
                "Add the operator's Deployment to depends_on.",
            )
        for operator in operators:
            if operator.options is not None and crd.key not in operator.options.depends_on:
                yield Finding(
                    (),
                    f"Its operator, {operator}, does not depend on {crd}, so the order of the three is open.",
                    "Let the operator depend on the CustomResourceDefinition.",
                )


_ORDER = """\
apiVersion: confidentialcontainers.org/v1beta1
kind: CcRuntime
metadata: {{name: ccruntime}}
spec: {{runtimeName: kata}}
pulumi: {}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: ccruntimes.confidentialcontainers.org}}
spec: {{group: confidentialcontainers.org, names: {{kind: CcRuntime}}}}
pulumi: {{protect: true}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: cc-operator-controller-manager}}
spec: {{}}
pulumi: {{depends_on: [ccruntimes.confidentialcontainers.org]}}
"""

ORDER = Rule(
    id="custom-resource-order",
    title="A custom resource depends on its operator, and the operator on the CustomResourceDefinition",
    why="Pulumi makes objects in the order of their dependencies and removes them in the reverse. A custom resource "
    "whose operator is gone keeps its finalizer, and destroy hangs (pulumi-kubernetes#1418, #1920).",
    group=Group.GENERAL,
    remedy="depends_on: CR → operator → CRD.",
    check=_order,
    whole=True,
    complies=Example(
        _ORDER.format("{depends_on: [ccruntimes.confidentialcontainers.org, cc-operator-controller-manager]}")
    ),
    violates=Example(_ORDER.format("{}")),
)

RULES = (PROVIDER, PROTECTED, ORDER)
