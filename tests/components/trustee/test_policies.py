"""The policies, evaluated by a Rego engine: who gets a token, who gets a resource, and that all of them fail closed."""

from __future__ import annotations

from typing import Any

import pytest

from components.trustee.attestation_policy import attestation_policy
from components.trustee.resource_policy import ALLOW_ALL, DENY_ALL, affirming, by_tenant
from settings.trustee import Broker
from tests.components.trustee.rego import evaluate

RIM, DIM = "virtcca.realm.rim", "virtcca.dim"
KNOWN = {"reference": {RIM: ["aa", "bb"], DIM: ["1", "2"]}}


def vouched(broker: Broker, names: list[str], claims: dict[str, Any], data: Any) -> bool:
    """Whether the attestation service vouches for a guest with these claims, handed over as this broker does."""
    policy = attestation_policy(broker, names)
    if broker == "Simple":
        return bool(evaluate(policy, "allow", {**claims, "report_data": "", "init_data": ""}, data))
    tree: dict[str, Any] = {"report_data": ""}
    for name, value in claims.items():
        *steps, last = name.split(".")
        at = tree
        for step in steps:
            at = at.setdefault(step, {})
        at[last] = value
    executables = evaluate(policy, "executables", tree, data)
    assert executables in {3, 33}, "affirming or a warning, by AR4SI"
    return bool(executables == 3)


@pytest.mark.parametrize("broker", ["Simple", "Ear"])
@pytest.mark.parametrize(
    ("names", "claims", "data", "good"),
    [
        ([RIM], {RIM: "aa"}, KNOWN, True),
        ([RIM], {RIM: "bb"}, KNOWN, True),
        ([RIM], {RIM: "cc"}, KNOWN, False),
        ([RIM], {}, KNOWN, False),
        ([RIM], {"virtcca.realm.rem": ["aa"]}, KNOWN, False),
        ([RIM], {RIM: "aa"}, {"reference": {}}, False),
        ([RIM], {RIM: "aa"}, {}, False),
        ([RIM], {RIM: ""}, KNOWN, False),
        ([RIM], {RIM: []}, KNOWN, False),
        ([RIM, DIM], {RIM: "aa", DIM: ["2", "1"]}, KNOWN, True),
        ([RIM, DIM], {RIM: "aa", DIM: ["1", "3"]}, KNOWN, False),
        ([RIM, DIM], {RIM: "cc", DIM: ["1"]}, KNOWN, False),
        ([RIM, DIM], {RIM: "aa"}, KNOWN, False),
    ],
)
def test_a_guest_is_vouched_for_only_with_every_measurement_known(
    broker: Broker, names: list[str], claims: dict[str, Any], data: Any, good: bool
) -> None:
    assert vouched(broker, names, claims, data) is good


@pytest.mark.parametrize("broker", ["Simple", "Ear"])
def test_a_guest_of_another_kind_is_not_vouched_for(broker: Broker) -> None:
    assert not vouched(broker, [RIM], {"sample.realm.rim": "aa"}, KNOWN)


@pytest.mark.parametrize("broker", ["Simple", "Ear"])
def test_a_policy_that_would_compare_nothing_is_not_written(broker: Broker) -> None:
    with pytest.raises(ValueError, match="would accept everyone"):
        attestation_policy(broker, [])
    with pytest.raises(ValueError, match="cannot be a name in a policy"):
        attestation_policy(broker, ['a"] == input["a'])


def may(policy: str, token: Any, path: str = "resource/default/tenant-a/key") -> bool:
    return bool(evaluate(policy, "allow", token, {"resource-path": path}))


def ear(status: str, rim: str = "aa", submod: str = "cpu0") -> dict[str, Any]:
    evidence = {"virtcca": {"realm": {"rim": rim}}}
    return {"submods": {submod: {"ear.status": status, "ear.veraison.annotated-evidence": evidence}}}


@pytest.mark.parametrize(
    ("token", "good"),
    [
        (ear("affirming"), True),
        (ear("affirming", submod="cpu"), True),
        (ear("warning"), False),
        (ear("contraindicated"), False),
        ({"submods": ear("affirming")["submods"] | ear("warning", submod="gpu0")["submods"]}, False),
        ({"submods": {}}, False),
        ({"submods": {"cpu0": {}}}, False),
        ({}, False),
    ],
)
def test_with_ear_only_an_affirmed_guest_gets_anything(token: Any, good: bool) -> None:
    assert may(affirming("Ear"), token) is good
    assert may(by_tenant({"tenant-a": ["aa"]}), token) is good


@pytest.mark.parametrize(
    ("token", "good"),
    [
        ({"tee": "virtcca", "evaluation-reports": [{"policy-id": "default", "policy-hash": "x"}]}, True),
        ({"tee": "virtcca", "evaluation-reports": [{"policy-id": "other"}]}, False),
        ({"tee": "virtcca", "evaluation-reports": []}, False),
        ({}, False),
    ],
)
def test_with_simple_a_token_of_our_policy_is_what_counts(token: Any, good: bool) -> None:
    assert may(affirming("Simple"), token) is good


@pytest.mark.parametrize(
    ("path", "rim", "good"),
    [
        ("resource/default/tenant-a/key", "aa", True),
        ("default/tenant-a/key", "aa", True),
        ("resource/default/tenant-a/other", "aa", True),
        ("resource/default/tenant-b/key", "aa", False),
        ("resource/default/tenant-b/key", "bb", True),
        ("resource/default/tenant-c/key", "aa", False),
        ("resource/other/tenant-a/key", "aa", False),
        ("resource/default/tenant-a/key", "cc", False),
        ("tenant-a/key", "aa", False),
        ("a/b/default/tenant-a/key", "aa", False),
        ("", "aa", False),
    ],
)
def test_by_tenant_a_secret_is_for_the_guests_of_its_tenant(path: str, rim: str, good: bool) -> None:
    assert may(by_tenant({"tenant-b": ["bb"], "tenant-a": ["aa"]}), ear("affirming", rim), path) is good


def test_all_and_nothing() -> None:
    assert may(ALLOW_ALL, {})
    assert not may(DENY_ALL, ear("affirming"))
