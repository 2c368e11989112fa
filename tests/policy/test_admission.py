"""Admission policies as objects: which there are, what they do, and what they leave alone."""

from __future__ import annotations

import pytest

from policy.admission.checks import CHECKS
from policy.admission.objects import API, EXEMPT, Action, manifests, policies
from policy.rules.catalogue import RULES
from policy.rules.model import Level
from topology.profiles import MINDCLUSTER, OPENFUYAO, PROFILES

MADE = policies(OPENFUYAO)


def test_each_is_of_a_rule_of_the_catalogue() -> None:
    assert {one.rule for one in MADE} == set(CHECKS) <= {rule.id for rule in RULES}
    assert len({one.name for one in MADE}) == len(MADE) == sum(len(resources) for resources, _ in CHECKS.values())


def test_the_same_comes_out_every_time() -> None:
    assert manifests(policies(OPENFUYAO), Action.DENY) == manifests(MADE, Action.DENY)


@pytest.mark.parametrize("action", Action)
def test_what_is_no_error_never_refuses(action: Action) -> None:
    for one in MADE:
        (taken,) = one.binding(action)["validationActions"]
        if action is not Action.DENY:
            assert taken == action.capitalize()
        else:
            assert taken == ("Deny" if one.level is Level.ERROR else "Warn")


def test_an_old_claim_stays_free_to_lose_its_finalizer() -> None:
    """Refusing its update would keep it for ever."""
    for one in MADE:
        (rule,) = one.spec["matchConstraints"]["resourceRules"]
        if rule["resources"][0].startswith("resourceclaim"):
            assert rule["operations"] == ["CREATE"]
        else:
            assert one.spec["matchConditions"], "only a spec that is new is looked at"


def test_every_binding_leaves_exempt_namespaces_alone_and_is_of_its_policy() -> None:
    made = manifests(MADE, Action.WARN)
    assert {one["apiVersion"] for one in made} == {API}
    for policy, binding in zip(made[::2], made[1::2], strict=True):
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        (expression,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert expression == {"key": EXEMPT, "operator": "NotIn", "values": ["exempt"]}


def test_nothing_empty_is_written_since_the_server_drops_it() -> None:
    for one in MADE:
        assert all(value not in ({}, [], None) for value in one.spec.values())


def test_attributes_are_those_of_the_profile() -> None:
    def said(profile: str) -> str:
        return str([one.spec for one in policies(PROFILES[profile]) if one.rule == "constraint-attribute"])

    assert "npu.huawei.com/topoHccsRingID" in said("openfuyao")
    assert f"driver profile {MINDCLUSTER.name}" in said("mindcluster")
    assert said("openfuyao") != said("mindcluster")
