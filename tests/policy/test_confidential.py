"""Where rules on confidential containers could easily be wrong: two clusters, defaults, names, versions."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from policy.rules.catalogue import RULES
from policy.rules.confidential import RULES as OURS
from policy.rules.model import Environment, Example, Level, Options, Subject
from policy.rules.run import judge, weight
from policy.rules.surroundings import surround

BY_ID = {rule.id: rule for rule in RULES}


def levels(rule: str, *manifests: dict[str, Any], providers: tuple[str, ...] = ()) -> list[Level]:
    """providers: of the objects, in their order; without them the objects are of a file."""
    subjects = [
        Subject(one, str(index), Options(provider=providers[index]) if providers else None)
        for index, one in enumerate(manifests)
    ]
    context = surround(subjects)
    return [
        weight(BY_ID[rule], finding, Environment.PROD)
        for subject in subjects
        for finding in judge(BY_ID[rule], subject, context).findings
    ]


def objects(example: Example) -> list[dict[str, Any]]:
    made = list(yaml.safe_load_all(example.text))
    for one in made:
        one.pop("pulumi", None)
    return made


def cc(spec: dict[str, Any] | None = None, name: str = "r") -> dict[str, Any]:
    return {
        "apiVersion": "confidentialcontainers.org/v1beta1",
        "kind": "CcRuntime",
        "metadata": {"name": name},
        "spec": spec or {},
    }


def node(value: str, key: str = "node.kubernetes.io/worker") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {key: value}}}


def kbs(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "confidentialcontainers.org/v1alpha1",
        "kind": "KbsConfig",
        "metadata": {"name": "k", "namespace": "default"},
        "spec": spec,
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    files = {key.replace("__", "-").replace("_", "."): text for key, text in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": files}


def operator(image: str, **env: str) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in env.items()]
    container = {"name": "manager", "image": image, "env": listed}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "operator", "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def test_one_runtime_in_each_of_two_clusters_is_one_in_each() -> None:
    two = (cc(), cc(name="other"))
    assert levels("one-cc-runtime", *two, providers=("a", "b")) == []
    assert levels("one-cc-runtime", *two, providers=("a", "a")) == [Level.ERROR, Level.ERROR]


def test_without_a_selector_the_label_is_upstreams() -> None:
    assert levels("cc-node-labels", cc(), node("")) == []
    assert Level.ERROR in levels("cc-node-labels", cc(), node("true"))
    assert levels("cc-node-labels", cc(), node("", "other")) == [Level.WARNING], "there may be nodes elsewhere"
    assert levels("cc-node-labels", cc()) == [Level.NOTE]
    assert levels("cc-node-labels", cc(), node("true"), providers=("a", "b")) == [Level.NOTE]


def test_fields_that_are_there_and_empty_are_not_used() -> None:
    empty = {"config": {"runtimeImage": "", "preInstall": {"cmd": []}, "imagePullSecret": {}}}
    assert levels("cc-dead-fields", cc(empty)) == []
    assert levels("cc-pull-secret", cc(empty)) == []


def test_two_labels_are_one_too_many() -> None:
    done = {"config": {"installDoneLabel": {"a": "true", "b": "true"}}}
    assert levels("cc-done-labels", cc(done)) == [Level.ERROR]


@pytest.mark.parametrize("key", ["kbsEnvVars", "kbsDeploymentSpec", "kbsConfigMapname"])
def test_one_wrong_capital_is_told(key: str) -> None:
    assert levels("kbs-field-names", kbs(**{key: {}})) == [Level.ERROR]


def test_fields_of_later_operators_are_left_alone() -> None:
    assert levels("kbs-field-names", kbs(httpsSpec={"tlsSecretName": "x"})) == []


@pytest.mark.parametrize(
    ("rego", "level"),
    [
        ("default allow = false\nallow { input.x }", []),
        ("default allow := true", [Level.ERROR]),
        ("default allow = false\nallow { true }", [Level.ERROR]),
        ("default allow = false\nallow if true", [Level.ERROR]),
        ("# default allow = true\ndefault allow = false", []),
    ],
)
def test_a_policy_is_open_by_what_it_says_and_not_by_its_comments(rego: str, level: list[Level]) -> None:
    given = kbs(kbsResourcePolicyConfigMapName="p")
    assert levels("kbs-open-policy", given, config_map("p", policy_rego=f"package policy\n{rego}\n")) == level


def test_the_version_of_trustee_decides_only_where_a_tag_says_it() -> None:
    given = kbs(kbsConfigMapName="c", kbsAttestationPolicyConfigMapName="p")
    toml = '[attestation_service.attestation_token_broker]\ntype = "Ear"\n'
    inputs = (config_map("c", kbs__config_toml=toml), config_map("p", **{"default_cpu.rego": "package policy"}))
    inputs[1]["data"] = {"default_cpu.rego": "package policy"}

    def broker(tag: str) -> dict[str, Any]:
        return operator("x/trustee-operator:v0.5.0", KBS_IMAGE_NAME=f"x/key-broker-service{tag}")

    assert levels("kbs-policy-file", given, *inputs, broker(":built-in-as-v0.13.0")) == [Level.ERROR]
    assert levels("kbs-policy-file", given, *inputs, broker(":built-in-as-v0.15.0")) == []
    assert levels("kbs-policy-file", given, *inputs, broker("@sha256:" + "0" * 64)) == []


def test_reference_values_are_in_the_form_of_the_version() -> None:
    given = kbs(kbsRvpsRefValuesConfigMapName="v")
    old = config_map("v")
    old["data"] = {"reference-values.json": '[{"name": "a", "hash-value": []}]'}
    new = operator("x/trustee-operator:v0.5.0", KBS_IMAGE_NAME="x/kbs:v0.15.0")
    assert levels("kbs-policy-file", given, old, new) == [Level.ERROR]
    older = operator("x/trustee-operator:v0.5.0", KBS_IMAGE_NAME="x/kbs:v0.12.0")
    assert levels("kbs-policy-file", given, old, older) == []


def test_a_secret_that_guests_ask_for_keeps_its_name() -> None:
    def secret(name: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {}}

    hashed = "model-0f1e2d3c4b"
    assert levels("kbs-content-names", kbs(kbsSecretResources=[hashed]), secret(hashed)) == [Level.WARNING]
    assert levels("kbs-content-names", kbs(kbsSecretResources=["model"]), secret("model")) == []
    fixed = {**secret("auth"), "immutable": True}
    assert levels("kbs-content-names", kbs(kbsAuthSecretName="auth"), fixed) == []
    assert levels("kbs-content-names", kbs(kbsAuthSecretName="auth"), secret("auth")) == [Level.WARNING]


def test_an_operator_elsewhere_is_another_clusters() -> None:
    there = operator("x/trustee-operator:v0.5.0")
    there["metadata"]["namespace"] = "trustee"
    assert levels("one-kbs-config", kbs(), there) == [Level.ERROR]
    assert levels("one-kbs-config", kbs(), there, providers=("a", "b")) == []


def test_other_peoples_operators_are_none_of_these() -> None:
    for image in ("quay.io/prometheus/operator:v1", "registry.example/trustee:1"):
        assert levels("trustee-images", operator(image)) == []
        assert levels("cc-operator-archived", operator(image)) == []


def test_a_mirrored_operator_is_known_by_its_name() -> None:
    mirrored = operator("registry.example/mirror/confidential-containers/operator:v0.19.0")
    assert levels("cc-operator-archived", mirrored) == [Level.WARNING]


def test_what_works_with_the_facts_has_no_finding_of_another_rule_of_the_group() -> None:
    """An example that complies is no counter-example of its neighbours', but where the neighbour is its subject."""
    runtime = objects(BY_ID["cc-done-labels"].complies)
    for rule in OURS:
        if rule.id.startswith("cc-") and rule.id != "cc-operator-archived":
            assert Level.ERROR not in levels(rule.id, *runtime), rule.id
