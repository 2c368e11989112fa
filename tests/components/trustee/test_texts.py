"""What is written can be read again, and says what it was told, in the form of the version that reads it."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.trustee.image_policy import image_policy
from components.trustee.kbs_toml import KbsToml, Signer, TokenBroker, kbs_toml
from components.trustee.reference_values import Reference, reference_values
from components.trustee.services import as_config, rvps_config
from settings.trustee import VERSIONS, Version, payload_limit, plain_reference_values, policy_file

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1)
BROKERS = st.builds(
    TokenBroker,
    type=st.sampled_from(["Ear", "Simple"]),
    duration_min=st.integers(1, 1440),
    policy_dir=st.none() | WORDS,
    signer=st.none() | st.builds(Signer, key_path=WORDS, cert_path=WORDS),
)
TOMLS = st.builds(
    KbsToml,
    broker=st.none() | BROKERS,
    https=st.booleans(),
    insecure_api=st.booleans(),
    insecure_key=st.booleans(),
    trusted_certs=st.lists(WORDS, max_size=2).map(tuple),
    timeout_min=st.integers(1, 60),
    payload_mb=st.none() | st.integers(1, 100),
)
# By trustee v0.12.0 to v0.15.0 (kbs/src/config.rs and what it names): the KBS ignores any other.
KNOWN = {
    "http_server": {"sockets", "insecure_http", "private_key", "certificate", "payload_request_size"},
    "admin": {"insecure_api", "auth_public_key"},
    "attestation_token": {"insecure_key", "trusted_certs_paths"},
    "attestation_service": {
        "type",
        "timeout",
        "work_dir",
        "attestation_token_broker",
        "rvps_config",
        "as_addr",
        "pool_size",
    },
    "policy_engine": {"policy_path"},
}


@given(TOMLS)
def test_kbs_config_reads_back_as_it_was_told(config: KbsToml) -> None:
    found = tomllib.loads(kbs_toml(config))
    assert found["http_server"]["insecure_http"] is not config.https
    assert ("private_key" in found["http_server"]) == ("certificate" in found["http_server"]) == config.https
    assert ("auth_public_key" in found["admin"]) is not config.insecure_api
    assert found["attestation_token"]["insecure_key"] is config.insecure_key
    assert tuple(found["attestation_token"].get("trusted_certs_paths", ())) == config.trusted_certs
    service = found["attestation_service"]
    if config.broker is None:
        assert service["type"] == "coco_as_grpc"
    else:
        assert service["attestation_token_broker"] == config.broker.plain()
        assert service["rvps_config"]["storage"]["type"] == "LocalJson"


@given(TOMLS)
def test_kbs_config_has_no_key_that_the_kbs_would_ignore(config: KbsToml) -> None:
    found = tomllib.loads(kbs_toml(config))
    plugins = found.pop("plugins")
    assert [set(plugin) for plugin in plugins] == [{"name", "type", "dir_path"}]
    assert set(found) == set(KNOWN)
    for section, keys in found.items():
        assert set(keys) <= KNOWN[section], section


@given(BROKERS)
def test_the_attestation_service_is_told_the_same_in_both_deployments(broker: TokenBroker) -> None:
    alone = json.loads(as_config(broker))
    inside = tomllib.loads(kbs_toml(KbsToml(broker=broker, https=True)))["attestation_service"]
    assert alone["attestation_token_broker"] == inside["attestation_token_broker"]
    assert json.loads(rvps_config())["storage"] == inside["rvps_config"]["storage"]


@given(
    st.lists(
        st.builds(
            Reference,
            name=WORDS,
            values=st.lists(WORDS, min_size=1).map(tuple),
            expiration=st.just("2030-01-01T00:00:00Z"),
            algorithm=st.sampled_from(["sha256", "sha512"]),
        ),
        unique_by=lambda one: one.name,
    ),
    st.sampled_from(VERSIONS),
)
def test_reference_values_are_in_the_form_that_the_version_reads(references: list[Reference], version: Version) -> None:
    found = json.loads(reference_values(references, version))
    assert [one["name"] for one in found] == [one.name for one in references]
    for entry, one in zip(found, references, strict=True):
        if plain_reference_values(version):
            assert set(entry) == {"name", "expiration", "value"}
            assert tuple(entry["value"]) == one.values
        else:
            assert set(entry) == {"name", "expiration", "hash-value"}
            assert [(pair["alg"], pair["value"]) for pair in entry["hash-value"]] == [
                (one.algorithm, value) for value in one.values
            ]


def test_two_reference_values_of_one_name_are_no_file() -> None:
    one = Reference(name="a", values=("1",), expiration="2030-01-01T00:00:00Z")
    with pytest.raises(ValueError, match="two entries have the same name: a"):
        reference_values([one, one], "0.12")


def test_the_file_names_and_forms_of_each_version_are_those_of_its_source() -> None:
    found = {
        version: (
            policy_file(version, "Ear"),
            policy_file(version, "Simple"),
            plain_reference_values(version),
            payload_limit(version),
        )
        for version in ("0.12", "0.13", "0.14", "0.15")
    }
    assert found == {
        "0.12": ("default.rego", "default.rego", False, False),
        "0.13": ("default.rego", "default.rego", False, True),
        "0.14": ("default_cpu.rego", "default.rego", True, True),
        "0.15": ("default_cpu.rego", "default.rego", True, True),
    }


def test_an_image_policy_refuses_what_it_does_not_name() -> None:
    text = image_policy({"registry.example/b": "kbs:///default/cosign-key/1", "a": "kbs:///default/k/2"})
    assert json.loads(text) == {
        "default": [{"type": "reject"}],
        "transports": {
            "docker": {
                "a": [{"type": "sigstoreSigned", "keyPath": "kbs:///default/k/2"}],
                "registry.example/b": [{"type": "sigstoreSigned", "keyPath": "kbs:///default/cosign-key/1"}],
            }
        },
    }
