"""What a driver may do: its RBAC, and the admission policies around it."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import GROUP
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.view import View

_ROLES = ("ClusterRole", "Role")
_GATE = "DRAResourceClaimGranularStatusAuthorization"
_WRITING = {"update", "patch", "*"}


def _grants(rule: View, resource: str) -> bool:
    groups = {text.text() for text in rule.at("apiGroups").items()}
    resources = {text.text() for text in rule.at("resources").items()}
    return bool(groups & {GROUP, "*"}) and bool(resources & {resource, "*"})


def _writes_status(rule: View) -> bool:
    verbs = {text.text() for text in rule.at("verbs").items()}
    return _grants(rule, "resourceclaims/status") and bool(verbs & _WRITING)


def _claim_status(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.kind not in _ROLES or not subject.group.startswith("rbac."):
        return
    writing = [rule for rule in subject.view.at("rules").items() if _writes_status(rule)]
    everyone = [rule for role in context.of(*_ROLES) for rule in role.view.at("rules").items()]
    if not all(role.view.at("rules").plain_known() for role in context.of(*_ROLES)):
        # A rule that is not known yet may be the one that is missed.
        subject.view.at("rules").plain_known()
        return
    if not writing or any(_grants(rule, "resourceclaims/driver") for rule in everyone):
        return
    cluster = context.cluster
    if cluster is not None and not cluster.on(_GATE):
        return
    yield Finding(
        writing[0].path,
        "It may write the status of claims, but not resourceclaims/driver, which Kubernetes asks for besides from 1.36 "
        "on: "
        "pods then hang in ContainerCreating.",
        "Add resources: [resourceclaims/driver], verbs: [associated-node:patch, associated-node:update], "
        "resourceNames: "
        "[the driver's name].",
        Level.WARNING if cluster is None else None,
    )


_ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: npu-dra-plugin}
rules:
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims/status]
  verbs: [patch, update]
"""

CLAIM_STATUS = Rule(
    id="claim-status-rights",
    title="Who writes the status of claims may also do so as a driver",
    why="From 1.36 on the gate DRAResourceClaimGranularStatusAuthorization asks drivers for a second right; an "
    "update of the cluster stopped drivers without it (kubernetes#138149, cilium#48911).",
    group=Group.DRIVER,
    remedy="Add the rule for resourceclaims/driver.",
    check=_claim_status,
    whole=True,
    complies=Example(
        _ROLE
        + "- apiGroups: [resource.k8s.io]\n  resources: [resourceclaims/driver]\n"
        + "  verbs: [associated-node:patch, associated-node:update]\n  resourceNames: [npu.huawei.com]\n",
        kubernetes="1.37",
    ),
    violates=Example(_ROLE, kubernetes="1.37"),
)

_POLICIES = {
    "ValidatingAdmissionPolicy": ("spec", "matchConstraints", "resourceRules"),
    "MutatingAdmissionPolicy": ("spec", "matchConstraints", "resourceRules"),
}
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def _admission(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if subject.group != "admissionregistration.k8s.io":
        return
    rules: list[View] = []
    if subject.kind in _POLICIES:
        rules = subject.view.at(*_POLICIES[subject.kind]).items()
    elif subject.kind in _WEBHOOKS:
        rules = [rule for webhook in subject.view.at("webhooks").items() for rule in webhook.at("rules").items()]
    concerned = [rule for rule in rules if GROUP in {text.text() for text in rule.at("apiGroups").items()}]
    versions = {text.text() for rule in concerned for text in rule.at("apiVersions").items()}
    if concerned and versions and None not in versions and not versions & {"v1", "*"}:
        yield Finding(
            concerned[0].at("apiVersions").path,
            f"It looks at {', '.join(sorted(str(one) for one in versions))} of {GROUP} only. From 1.34 on these are "
            "not served by "
            "default, and requests for v1 pass by it.",
            "Add v1 to apiVersions.",
        )


_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: own-slices}}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [{}]
      operations: [CREATE, UPDATE, DELETE]
      resources: [resourceslices]
  validations:
  - expression: object.spec.nodeName != ""
"""

ADMISSION = Rule(
    id="admission-on-v1",
    title="Admission policies and webhooks for the resource API look at v1",
    why="A policy that names only v1beta1, as one public driver's does, protects nothing on a cluster that serves "
    "only v1: the matching of equivalent versions knows only versions that are served.",
    group=Group.DRIVER,
    remedy="List v1, and the older ones besides if they are served.",
    check=_admission,
    complies=Example(_POLICY.format("v1, v1beta1")),
    violates=Example(_POLICY.format("v1beta1")),
)

RULES = (CLAIM_STATUS, ADMISSION)
