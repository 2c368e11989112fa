"""Policies and bindings as plain objects: a policy for each rule and resource, so that each can be bound by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policy.admission.checks import CHECKS, CLAIMS
from policy.rules.catalogue import RULES
from policy.rules.find import GROUP
from policy.rules.model import Level
from topology.profiles import DriverProfile

API = "admissionregistration.k8s.io/v1"
EXEMPT = "ringfence.dev/admission"
"""A namespace with this label and the value `exempt` is left alone."""


class Action(StrEnum):
    """What a finding does: refuses the object, warns who sends it, or is noted in the audit log."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


@dataclass(frozen=True)
class AdmissionPolicy:
    """name: of policy and binding. level: of its rule in production; what weighs less than an error never refuses."""

    name: str
    rule: str
    level: Level
    spec: dict[str, Any]

    def binding(self, action: Action) -> dict[str, Any]:
        """The spec of its binding."""
        taken = Action.WARN if action is Action.DENY and self.level is not Level.ERROR else action
        exempt = {"key": EXEMPT, "operator": "NotIn", "values": ["exempt"]}
        return {
            "policyName": self.name,
            "validationActions": [taken.capitalize()],
            "matchResources": {"namespaceSelector": {"matchExpressions": [exempt]}},
        }


def policies(profile: DriverProfile) -> tuple[AdmissionPolicy, ...]:
    """Every policy, in the order of the catalogue."""
    found = []
    for rule in RULES:
        resources, _ = CHECKS.get(rule.id, ((), None))
        for resource in resources:
            found.append(
                AdmissionPolicy(
                    f"ringfence-{rule.id}-{resource}", rule.id, rule.prod, _spec(rule.id, resource, profile)
                )
            )
    return tuple(found)


def _spec(rule: str, resource: str, profile: DriverProfile) -> dict[str, Any]:
    check = CHECKS[rule][1](resource, profile)
    spec: dict[str, Any] = {
        # These rules keep people from mistakes; where one cannot be evaluated, nobody's work is to stand still.
        "failurePolicy": "Ignore",
        "matchConstraints": {
            # Other versions that are served are converted to this one.
            "matchPolicy": "Equivalent",
            "resourceRules": [
                {
                    "apiGroups": [GROUP],
                    "apiVersions": ["v1"],
                    # What a claim and a template say never changes, and an old one must stay free to lose a finalizer.
                    "operations": ["CREATE"] if resource in CLAIMS else ["CREATE", "UPDATE"],
                    "resources": [resource],
                    "scope": "*",
                }
            ],
        },
        "validations": [{"expression": check.expression, "messageExpression": check.message, "reason": "Invalid"}],
    }
    if resource not in CLAIMS:
        changed = "oldObject == null || object.spec != oldObject.spec"
        spec["matchConditions"] = [{"name": "spec-is-new", "expression": changed}]
    if check.variables:
        spec["variables"] = [{"name": name, "expression": text} for name, text in check.variables.items()]
    return spec


def manifests(chosen: Sequence[AdmissionPolicy], action: Action) -> list[dict[str, Any]]:
    """Policies and bindings as `kubectl apply` takes them."""
    found = []
    for one in chosen:
        annotations = {"ringfence.dev/rule": one.rule}
        metadata = {"name": one.name, "annotations": annotations}
        found.append({"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": one.spec})
        found.append(
            {
                "apiVersion": API,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": metadata,
                "spec": one.binding(action),
            }
        )
    return found
