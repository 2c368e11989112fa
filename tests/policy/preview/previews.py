"""Previews in the digest's form, made by hand: one step for each object, as little of it as a test needs."""

from __future__ import annotations

import json
from typing import Any

TYPES = {
    "ResourceClaimTemplate": "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
    "DeviceClass": "kubernetes:resource.k8s.io/v1:DeviceClass",
    "DaemonSet": "kubernetes:apps/v1:DaemonSet",
    "Deployment": "kubernetes:apps/v1:Deployment",
    "CcRuntime": "kubernetes:confidentialcontainers.org/v1beta1:CcRuntime",
    "KbsConfig": "kubernetes:confidentialcontainers.org/v1alpha1:KbsConfig",
    "ConfigMap": "kubernetes:core/v1:ConfigMap",
    "Secret": "kubernetes:core/v1:Secret",
    "Node": "kubernetes:core/v1:Node",
    "NodePatch": "kubernetes:core/v1:NodePatch",
    "Namespace": "kubernetes:core/v1:Namespace",
    "CustomResourceDefinition": "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
    "Provider": "pulumi:providers:kubernetes",
    "RuntimeClass": "kubernetes:node.k8s.io/v1:RuntimeClass",
    "ValidatingAdmissionPolicyBinding": "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
    "ClusterRole": "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
    "ResourceQuota": "kubernetes:core/v1:ResourceQuota",
    "Widget": "kubernetes:example.test/v1:Widget",
}


def step(op: str, kind: str, old: Any = None, new: Any = None, **more: Any) -> dict[str, Any]:
    """old, new: inputs. outputs, protect, retainOnDelete: of the old state. The rest goes into the step."""
    type_ = TYPES.get(kind, kind)
    state = {key: more.pop(key) for key in ("outputs", "protect", "retainOnDelete") if key in more}
    made: dict[str, Any] = {"op": op, "urn": f"urn:pulumi:s::p::{type_}::{more.pop('name', 'it')}", **more}
    if old is not None:
        made["oldState"] = {"type": type_, "custom": True, "inputs": old, **state}
    if new is not None:
        made["newState"] = {"type": type_, "custom": True, "inputs": new}
    return made


def digest(*steps: dict[str, Any], diagnostics: Any = ()) -> str:
    return json.dumps({"steps": list(steps), "diagnostics": list(diagnostics), "changeSummary": {}})


def events(*steps: dict[str, Any], policies: Any = (), diagnostics: Any = ()) -> str:
    """The same in the form of events."""
    rows: list[dict[str, Any]] = []
    for one in steps:
        sides = {"old": one.get("oldState"), "new": one.get("newState")}
        rest = {key: value for key, value in one.items() if key not in ("oldState", "newState")}
        rows.append({"resourcePreEvent": {"metadata": rest | sides}})
    rows += [{"diagnosticEvent": one} for one in diagnostics]
    rows += [{"policyEvent": {"policyPackName": "ringfence", **one}} for one in policies]
    rows += [{"policyAnalyzeStackSummaryEvent": {"policyPackName": "ringfence"}}, {"summaryEvent": {}}]
    return "".join(json.dumps({"sequence": number, **row}) + "\n" for number, row in enumerate(rows))


def named(name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return {"metadata": metadata, **more}
