"""In which order confidential containers come and go, and which namespace their operators are in."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.confidential.find import (
    CC_RUNTIME,
    CONFIG_MAPS,
    SECRETS,
    is_cc_runtime,
    is_kbs_config,
    named,
    operator_container,
    pods,
    same_cluster,
)
from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Rule, Subject

_PSA = tuple(f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn"))


def _namespace(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.kind != "Namespace" or subject.api_version != "v1" or not subject.is_placed():
        return
    operators = [
        one
        for one in context.of("Deployment")
        if any(operator_container(one, name) is not None for name in ("cc-operator", "trustee-operator"))
        and same_cluster(one, subject)
        and one.is_placed()
        and context.namespace_of(one) == subject.name
    ]
    labels = subject.view.at("metadata", "labels")
    if not operators or not labels.plain_known():
        return
    missing = [label for label in _PSA if labels.at(label).text() != "privileged"]
    if missing:
        yield Finding(
            ("metadata", "labels") if not labels.absent else ("metadata",),
            f"{operators[0]} sets {', '.join(missing)} to privileged on its namespace each time it starts: declared "
            "otherwise, the stack and the operator change it back and forth.",
            "Declare all three as privileged.",
        )


_OPERATOR = """\
apiVersion: v1
kind: Namespace
metadata:
  name: confidential-containers-system
  labels: {{{}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: cc-operator-controller-manager, namespace: confidential-containers-system}}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: quay.io/confidential-containers/operator:v0.13.0
"""

NAMESPACE = Rule(
    id="coco-namespace-labels",
    title="The namespace of a confidential containers operator has the labels that the operator sets",
    why="Both managers write the three pod security labels on their own namespace at start-up, and the installers "
    "need them: they are privileged.",
    group=Group.CONFIDENTIAL,
    remedy="The labels pod-security.kubernetes.io/enforce, audit and warn, all privileged.",
    check=_namespace,
    whole=True,
    complies=Example(_OPERATOR.format(", ".join(f"{label}: privileged" for label in _PSA))),
    violates=Example(_OPERATOR.format("control-plane: controller-manager")),
)


def _order(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.options is None:
        return
    if is_cc_runtime(subject):
        yield from _after_labels(subject, context)
    elif is_kbs_config(subject):
        yield from _after_inputs(subject, context)
    else:
        yield from _after_runtime(subject, context)


def _waits(subject: Subject, other: Subject) -> bool:
    return subject.options is not None and other.key in subject.options.depends_on


def _after_labels(subject: Subject, context: Context) -> Iterator[Finding]:
    selector = subject.view.at("spec", "ccNodeSelector", "matchLabels")
    for node in context.of("Node"):
        labels = Subject(node.manifest).view.at("metadata", "labels").strings()
        selecting = node.options is not None and set(selector.strings()) & set(labels)
        if selecting and same_cluster(node, subject) and not _waits(subject, node):
            yield Finding(
                ("spec", "ccNodeSelector"),
                f"It does not depend on the label of {node}: on destroy the label may go first, and then the host is "
                "never restored and the CcRuntime never goes.",
                "Add the NodePatch to depends_on.",
            )


def _after_inputs(subject: Subject, context: Context) -> Iterator[Finding]:
    spec = subject.view.at("spec")
    wanted = [("ConfigMap", spec.at(key)) for key in CONFIG_MAPS] + [("Secret", spec.at(key)) for key in SECRETS]
    wanted += [("Secret", view) for view in spec.at("kbsSecretResources").items()]
    wanted += [("Secret", one.at("secretName")) for one in spec.at("kbsLocalCertCacheSpec", "secrets").items()]
    for kind, view in wanted:
        there = named(context, subject, kind, view.text())
        if there is not None and there.options is not None and not _waits(subject, there):
            yield Finding(
                view.path,
                f"It names {there} of the same stack and does not depend on it: until it is there the operator makes "
                "nothing and retries ever less often, up to 17 minutes apart.",
                "Add it to depends_on.",
            )


def _after_runtime(subject: Subject, context: Context) -> Iterator[Finding]:
    for spec, _ in pods(subject):
        name = spec.at("runtimeClassName").text()
        if name is None:
            continue
        for runtime in context.of(CC_RUNTIME):
            if not is_cc_runtime(runtime) or runtime.options is None or not same_cluster(runtime, subject):
                continue
            listed = Subject(runtime.manifest).view.at("spec", "config", "runtimeClasses").items()
            if name in {one.at("name").text() for one in listed} and not _waits(subject, runtime):
                yield Finding(
                    (*spec.path, "runtimeClassName"),
                    f"Its pods run in {name}, which {runtime} installs, and it does not depend on that: on destroy "
                    "the hosts' runtime may go under running pods.",
                    "Add the CcRuntime to depends_on.",
                )


_PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: scorer, namespace: inference}}
spec:
  template:
    spec:
      runtimeClassName: kata-qemu-virtcca
      containers:
      - name: scorer
        image: registry.example/scorer:1
pulumi: {}
---
apiVersion: confidentialcontainers.org/v1beta1
kind: CcRuntime
metadata: {{name: ccruntime-sample}}
spec:
  config:
    runtimeClasses: [{{name: kata-qemu-virtcca, snapshotter: nydus, pulltype: guest-pull}}]
pulumi: {{delete_before_replace: true}}
"""

ORDER = Rule(
    id="coco-order",
    title="Workloads go before the CcRuntime, the CcRuntime before its labels, the KbsConfig before its inputs",
    why="A runtime that is removed under running pods, or whose node has lost its label, leaves hosts half restored "
    "and its finalizer in place. One input of a KbsConfig that is missing keeps every tenant's keys away. Of operator "
    "and CRD, custom-resource-order says the same.",
    group=Group.CONFIDENTIAL,
    remedy="depends_on: workload → CcRuntime → node labels; KbsConfig → ConfigMaps and Secrets.",
    check=_order,
    whole=True,
    complies=Example(_PODS.format("{depends_on: [ccruntime-sample]}")),
    violates=Example(_PODS.format("{}")),
)

RULES = (NAMESPACE, ORDER)
