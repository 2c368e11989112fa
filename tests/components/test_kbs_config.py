"""`KbsConfig`: what it makes, under which names, in which order, and what of it anyone can read."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi_kubernetes as kubernetes
import pytest
import yaml
from pulumi.runtime import rpc

from components.content_names import content_name
from components.kbs_config import KbsConfig, KbsConfigArgs
from components.kbs_from_settings import kbs_of
from components.kbs_inputs import Kbs, Policy, inputs_of, spec_of
from components.kbs_ready import Expected
from tests.components.recording import Recorded, empties, record
from tests.settings.kbs_files import EAR, MICROSERVICES, SIMPLE, certificates, read, secrets

GOLDEN = Path(__file__).parent / "golden" / "kbs"
UPDATE = "RINGFENCE_UPDATE_GOLDEN"
CUSTOM = "kubernetes:confidentialcontainers.org/v1alpha1:KbsConfig"
CONFIG_MAP, SECRET = "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Secret"
NAMESPACE = "trustee-operator-system"


def virtcca() -> Mapping[str, Any]:
    root, sub = certificates("rsa")
    return {**SIMPLE, "virtccaCertificates": {"family": "rsa", "root": root, "sub": sub}}


def kbs(base: Mapping[str, Any] = SIMPLE, changes: Mapping[str, Any] | None = None) -> Kbs:
    settings = read(base, changes, production=False)
    return kbs_of(settings, secrets(settings.token.broker))


def deploy(given: Kbs, after: bool = False, **args: Any) -> Recorded:
    def program() -> None:
        first = [kubernetes.core.v1.Namespace("operator")] if after else []
        KbsConfig("kbs", KbsConfigArgs(namespace=NAMESPACE, kbs=given, after=first, **args))

    return record(program)


def spec(given: Kbs) -> dict[str, Any]:
    return spec_of(given, inputs_of(given))


def golden(given: Kbs) -> str:
    """Text as it is, to be read. What is made anew for every run of the tests, keys and certificates, is left out."""
    made = {"auth", "tls-certificate", "tls-key", "token-signer", "virtcca-certificates"}
    inputs = [
        replace(one, name=f"{one.name.rpartition('-')[0]}-…", files=dict.fromkeys(one.files, "…\n"))
        if one.role in made
        else one
        for one in inputs_of(given)
    ]
    parts = [f"=== {one.kind} {one.name}: {file}\n{text}" for one in inputs for file, text in sorted(one.files.items())]
    return "".join([*parts, "=== KbsConfig\n", yaml.safe_dump(spec_of(given, inputs), allow_unicode=True)])


@pytest.mark.parametrize("name", ["0.12-simple", "0.15-ear", "0.15-ear-microservices"])
def test_what_the_kbs_is_given_is_what_was_reviewed(name: str) -> None:
    """RINGFENCE_UPDATE_GOLDEN=1 .venv/bin/pytest tests/components/test_kbs_config.py writes them anew."""
    bases = {"0.12-simple": virtcca(), "0.15-ear": EAR, "0.15-ear-microservices": MICROSERVICES}
    text = golden(kbs(bases[name]))
    path = GOLDEN / f"{name}.txt"
    if os.environ.get(UPDATE):
        path.write_text(text)
    assert text == path.read_text(), f"not what {path.name} says; write it anew with {UPDATE}=1 and read the difference"


@pytest.mark.parametrize("base", [SIMPLE, EAR, MICROSERVICES])
def test_the_kbs_config_waits_for_everything_it_names_and_for_its_operator(base: Mapping[str, Any]) -> None:
    recorded = deploy(kbs(base), after=True)
    config = recorded.one(CUSTOM)
    made = {one.name: one.inputs["metadata"]["name"] for one in [*recorded.all(CONFIG_MAP), *recorded.all(SECRET)]}
    assert set(made) <= config.depends_on, "one that is missing stops the operator for every tenant"
    assert "operator" in config.depends_on
    named = yaml.safe_dump(config.inputs["spec"])
    for name in made.values():
        assert name in named, "made, and never mounted"
    for one in [config, *recorded.all(CONFIG_MAP), *recorded.all(SECRET)]:
        assert one.parent == "kbs"
        assert one.inputs["metadata"]["namespace"] == NAMESPACE, "the operator looks at no other"
        assert not list(empties(one.inputs)), one.name


def test_what_was_made_first_goes_last() -> None:
    recorded = deploy(kbs(), after=True)
    for one in [*recorded.all(CONFIG_MAP), *recorded.all(SECRET)]:
        assert "operator" in one.depends_on, "or its namespace would go before it"


def test_the_deployment_type_is_always_said() -> None:
    for base in (SIMPLE, EAR, MICROSERVICES):
        assert spec(kbs(base))["kbsDeploymentType"] == base["deploymentType"]


def test_microservices_have_a_configuration_for_each_and_all_in_one_has_none() -> None:
    fields = {"kbsAsConfigMapName", "kbsRvpsConfigMapName"}
    assert fields <= set(spec(kbs(MICROSERVICES)))
    assert not fields & set(spec(kbs(EAR)))


def test_tls_is_both_secrets_or_neither() -> None:
    fields = {"kbsHttpsKeySecretName", "kbsHttpsCertSecretName"}
    assert fields <= set(spec(kbs()))
    without = kbs(SIMPLE, {"tls": None, "insecure": {"http": True}})
    assert not fields & set(spec(without))
    assert "insecure_http = true" in without.kbs_toml


def test_a_policy_is_delivered_under_the_name_that_is_read() -> None:
    """By the operator it would always be default_cpu.rego; see settings.trustee."""
    simple, ear = spec(kbs(SIMPLE)), spec(kbs(EAR))
    assert "kbsAttestationPolicyConfigMapName" not in simple
    (mounted,) = [
        one for one in simple["kbsLocalCertCacheSpec"]["secrets"] if one["secretName"].startswith("kbs-attestation")
    ]
    assert mounted["mountPath"] == "/etc/kbs/attestation-policies/opa"
    assert 'policy_dir = "/etc/kbs/attestation-policies"' in kbs(SIMPLE).kbs_toml, "Trustee looks in opa/ below"
    assert ear["kbsAttestationPolicyConfigMapName"].startswith("kbs-attestation-policy-")
    assert 'policy_dir = "/opt/confidential-containers/attestation-service/policies"' in kbs(EAR).kbs_toml
    files = {one.role: set(one.files) for one in inputs_of(kbs(SIMPLE))}
    assert files["attestation-policy"] == {"default.rego"}


def test_huaweis_certificates_have_keys_that_kubernetes_allows_and_are_named_by_env() -> None:
    given = kbs(virtcca())
    assert spec(given)["KbsEnvVars"] == {
        "VIRTCCA_ROOT_CERT": "/etc/kbs/certs/virtcca/root.pem",
        "VIRTCCA_SUB_CERT": "/etc/kbs/certs/virtcca/sub.pem",
    }
    mounts = {one["mountPath"] for one in spec(given)["kbsLocalCertCacheSpec"]["secrets"]}
    assert "/etc/kbs/certs/virtcca" in mounts
    assert len(mounts) == 3, "two Secrets on one path would hide each other"


def test_another_content_is_another_name_and_the_same_content_the_same() -> None:
    before, same = inputs_of(kbs()), inputs_of(kbs())
    assert [one.name for one in before] == [one.name for one in same]
    changed = inputs_of(kbs(SIMPLE, {"resourcePolicy.kind": "denyAll"}))
    different = {one.role for one, other in zip(before, changed, strict=True) if one.name != other.name}
    assert different == {"resource-policy"}


def test_a_name_tells_nothing_of_a_private_key() -> None:
    """The name is for everyone, so it follows the certificate; with another key there is another certificate."""
    given = kbs()
    assert given.tls is not None
    assert given.signer is not None
    other = replace(given, tls=replace(given.tls, key="x"), signer=replace(given.signer, key="y"))
    assert [one.name for one in inputs_of(given)] == [one.name for one in inputs_of(other)]
    renewed = replace(given, tls=replace(given.tls, certificate="z"))
    different = {
        one.role for one, new in zip(inputs_of(given), inputs_of(renewed), strict=True) if one.name != new.name
    }
    assert different == {"tls-key", "tls-certificate"}


def test_what_guests_ask_for_keeps_its_name_and_may_change() -> None:
    recorded = deploy(kbs())
    names = {one.name: one for one in recorded.all(SECRET)}
    tenant = names["kbs/tenant-a"].inputs
    assert tenant["metadata"]["name"] == "tenant-a", "kbs:///default/tenant-a/image-key"
    assert "immutable" not in tenant
    assert names["kbs-auth"].inputs["immutable"] is True, "its name tells its content"
    assert recorded.one(CUSTOM).inputs["spec"]["kbsSecretResources"] == ["cosign-key", "security-policy", "tenant-a"]


def test_every_value_of_a_secret_is_one_to_the_engine_too() -> None:
    """Registered as secret, so it is encrypted in the state and hidden in every difference."""
    for one in deploy(kbs()).all(SECRET):
        data = one.request.object.fields["data"].struct_value.fields
        assert rpc._special_sig_key in data, f"{one.name} would lie open in the state"
        assert data[rpc._special_sig_key].string_value == rpc._special_secret_sig


def test_values_arrive_as_they_are_byte_for_byte() -> None:
    (secret,) = [one for one in deploy(kbs()).all(SECRET) if one.name == "kbs/tenant-a"]
    assert base64.b64decode(rpc.unwrap_rpc_secret(secret.inputs["data"])["image-key"]) == bytes(32)


def test_replicas_replace_because_the_operator_reads_them_once() -> None:
    request = deploy(kbs()).one(CUSTOM).request
    assert list(request.replaceOnChanges) == ["spec.KbsDeploymentSpec.replicas"]
    assert request.deleteBeforeReplace is True, "its name is fixed"


def test_going_takes_its_time_and_no_longer() -> None:
    request = deploy(kbs(), delete_timeout=77).one(CUSTOM).request
    assert request.customTimeouts.delete == "77s"


def test_it_waits_for_what_its_pods_are_to_mount() -> None:
    made: list[KbsConfig] = []
    given = kbs(SIMPLE, {"replicas": 2})
    args = KbsConfigArgs(namespace=NAMESPACE, kbs=given, wait=lambda _: None)
    ready = record(lambda: made.append(KbsConfig("kbs", args))).one("pulumi:index:Stash")
    (config,) = made
    assert config.expected == Expected(frozenset([*(one.name for one in inputs_of(given)), *given.resources]), 2)
    assert list(ready.request.hooks.before_create) == ["kbs-available"]
    assert list(ready.request.hooks.before_update) == ["kbs-available"], "after a change as well"
    assert "kbs-custom-resource" in ready.depends_on


def test_nothing_of_a_kbs_prints_a_private_key_or_a_resource() -> None:
    given = kbs()
    text = f"{given!r} {inputs_of(given)!r}"
    assert "PRIVATE KEY" not in text
    assert "A" * 20 not in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"as_config": "{}"}, "go with MicroservicesDeployment"),
        ({"resources": {"opa": {"k": b"x"}}}, "the same name: opa"),
    ],
)
def test_what_the_operator_cannot_mount_is_no_kbs(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(kbs(EAR), **changes)
    with pytest.raises(ValueError, match="into the KBS only"):
        replace(kbs(MICROSERVICES), attestation_policy=Policy(file="default.rego", text=""))


def test_a_resource_that_bears_the_name_of_another_volume_is_refused() -> None:
    given = kbs(EAR)
    name = inputs_of(given)[0].name
    with pytest.raises(ValueError, match=name):
        replace(given, resources={name: {"k": b"x"}})


def test_a_name_follows_files_and_their_names() -> None:
    assert content_name("a", {"x": "1"}) == content_name("a", {"x": "1"})
    assert len({content_name("a", {"x": "1"}), content_name("a", {"y": "1"}), content_name("a", {"x": "2"})}) == 3
    assert len(content_name("kbs-virtcca-certificates", {"x": "1"})) <= 63, "it is a volume's name too"
