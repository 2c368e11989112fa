"""Ways of asking that reach further than they look: all devices, admin access, taints of every device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policy.rules.context import Context
from policy.rules.find import GROUP, asked, claim_spec
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.view import UNKNOWN

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


def _all(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    devices = claim_spec(subject)
    for one in asked(devices) if devices is not None else ():
        # What only watches takes nothing from anyone: devices in use are given to it as well.
        if one.at.at("allocationMode").text() == "All" and not one.at.at("adminAccess").flag():
            yield Finding(
                one.at.at("allocationMode").path,
                f"Request {one.name} asks for all devices of a node: one that is in use or tainted rules the node out, "
                "and an "
                "incomplete pool on any node fails the pod on all of them.",
                "Write allocationMode: ExactCount and the count, unless it really is all or nothing.",
            )


_MODE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: node}}
spec:
  devices:
    requests:
    - name: npu
      exactly: {{deviceClassName: npu.huawei.com, allocationMode: {}}}
"""

ALL = Rule(
    id="all-mode",
    title="A claim says how many devices it needs, not all",
    why="With allocationMode All one busy, tainted or unhealthy device fails the node; an incomplete pool on one "
    "node fails the pod everywhere (kubernetes#141829); and with more than 32 devices it never works.",
    group=Group.CLAIMS,
    remedy="allocationMode: ExactCount with a count.",
    check=_all,
    prod=Level.WARNING,
    complies=Example(_MODE.format("ExactCount, count: 8")),
    violates=Example(_MODE.format("All")),
)


def _admin(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    admin = [one for one in asked(devices) if one.at.at("adminAccess").flag()] if devices is not None else []
    if not admin:
        return
    place = context.namespace_of(subject)
    namespace = next((one for one in context.of("Namespace") if one.name == place), None)
    if namespace is None:
        yield Finding(
            admin[0].at.at("adminAccess").path,
            f"Whether namespace {place} may ask for admin access is not known: it is not among these objects.",
            f'It needs the label {ADMIN_LABEL}: "true".',
            Level.NOTE,
        )
    elif namespace.view.at("metadata", "labels", ADMIN_LABEL).text() != "true":
        if namespace.view.at("metadata", "labels", ADMIN_LABEL).value is UNKNOWN:
            return
        yield Finding(
            admin[0].at.at("adminAccess").path,
            f"Namespace {place} lacks the label without which the API server refuses claims and templates with "
            "adminAccess.",
            f'Add {ADMIN_LABEL}: "true" to the namespace, and let nobody write there who may not see others\' devices.',
        )


_ADMIN = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: watch, namespace: monitoring}}
spec:
  spec:
    devices:
      requests:
      - name: npu
        exactly: {{deviceClassName: npu.huawei.com, allocationMode: All, adminAccess: true}}
---
apiVersion: v1
kind: Namespace
metadata:
  name: monitoring
  labels: {{{}}}
"""

ADMIN = Rule(
    id="admin-access",
    title="Admin access is asked for in a namespace that is labelled for it",
    why="A claim or template with adminAccess is refused unless its namespace has the label "
    f"{ADMIN_LABEL}; it is looked at again when the claim is allocated.",
    group=Group.CLAIMS,
    remedy="Label the namespace, or ask without adminAccess.",
    check=_admin,
    whole=True,
    complies=Example(_ADMIN.format(f'{ADMIN_LABEL}: "true"')),
    violates=Example(_ADMIN.format("team: monitoring")),
)


def _taints(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if subject.group != GROUP or subject.kind != "DeviceTaintRule":
        return
    selector = subject.view.at("spec", "deviceSelector")
    chosen = selector.value
    if isinstance(chosen, Mapping) and not any(value not in (None, "", []) for value in chosen.values()):
        yield Finding(
            selector.path,
            "An empty deviceSelector selects every device of every driver: the whole fleet is tainted at once.",
            "Name driver, pool or device. Without deviceSelector the rule selects nothing.",
        )
    elif selector.absent:
        yield Finding(
            ("spec",),
            "Without deviceSelector the rule taints nothing.",
            "Name driver, pool or device.",
            Level.WARNING,
        )


_TAINT = """\
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {{name: repair}}
spec:
  deviceSelector: {{{}}}
  taint: {{key: example.com/repair, effect: NoExecute}}
"""

TAINTS = Rule(
    id="taint-rule-selector",
    title="A DeviceTaintRule selects something, and not everything",
    why="deviceSelector {} means every device, no deviceSelector means none; with NoExecute the first ends all pods "
    "that have a device.",
    group=Group.CLAIMS,
    remedy="Name driver, pool or device.",
    check=_taints,
    complies=Example(_TAINT.format("driver: npu.huawei.com, pool: node-1, device: npu-3")),
    violates=Example(_TAINT.format("")),
)

RULES = (ALL, ADMIN, TAINTS)
