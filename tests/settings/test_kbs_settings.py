"""The KBS's section of a stack file: what is refused, in which words, and that no secret is ever among them."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime.config import CONFIG

from components.trustee.keys import new_authority, new_keys
from settings import secrets as secrets_
from settings.errors import SettingsError
from settings.kbs_checks import warnings_of
from settings.kbs_secrets import judge_secrets, remedies
from settings.secrets import Secret
from settings.trustee import Broker
from tests.settings.files import GONE
from tests.settings.kbs_files import (
    EAR,
    MICROSERVICES,
    SIMPLE,
    TODAY,
    certificates,
    keys,
    read,
    secrets,
)

BASES = {"simple": SIMPLE, "ear": EAR, "micro": MICROSERVICES}
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "kbs_problems.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[f"{i} {case['says'].split(': ')[0]}" for i, case in enumerate(CASES)])
def test_a_wrong_section_says_which_key_why_and_what_instead(case: dict[str, Any]) -> None:
    changes = {**case.get("change", {})} | dict.fromkeys(case.get("remove", []), GONE)
    with pytest.raises(SettingsError) as caught:
        read(BASES[case.get("base", "simple")], changes, production=case.get("production", True))
    assert f"ringfence:fence.kbs.{case['says']}" in [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("base", [SIMPLE, EAR])
def test_the_right_ones_are_right_in_production_with_two_clusters(base: Any) -> None:
    assert read(base).url == "https://kbs.example:30080"


def test_microservices_are_for_elsewhere() -> None:
    assert read(MICROSERVICES, production=False).token.signer is None


@pytest.mark.parametrize(
    "text",
    [
        "package policy\n",
        "# who may have what: }\n\npackage policy # ours\n\nimport rego.v1\n\ndefault allow := false\n",
        'package policy\nallow if {\n\tinput.x == "}{"\n\ty := `{`\n\tz := "\\"]"\n}\n',
    ],
)
def test_a_policy_of_ones_own_is_taken_as_it_is(text: str) -> None:
    changes = {"resourcePolicy": {"kind": "own", "text": text}, "attestationPolicy": {"kind": "own", "text": text}}
    assert read(SIMPLE, changes).resource_policy.text == text


@pytest.mark.parametrize("broker", ["Simple", "Ear"])
def test_what_one_command_makes_is_told_to_be_made_by_it(broker: Broker) -> None:
    kbs = read(SIMPLE, {"token.broker": broker, "tls": {"key": "of-my-own"}})
    found = remedies(kbs, "prod")
    words = f"Run `ringfence fence keys --stack prod --host kbs.example --broker {broker}`, which makes all of them."
    assert set(found.values()) == {words}
    assert set(found) == set(keys(broker)) & set(kbs.secret_names), "what is called otherwise, it does not make"


def test_inside_one_cluster_the_service_itself_will_do() -> None:
    changes = {"serviceType": "ClusterIP", "address.host": "kbs-service.trustee-operator-system.svc"}
    assert read(SIMPLE, changes, one_cluster=True).service_type == "ClusterIP"


def test_a_reference_value_of_more_than_14_days_is_taken() -> None:
    value = {"name": "virtcca.realm.rim", "values": ["a" * 64], "expiration": "2026-12-15T00:00:01Z"}
    assert read(SIMPLE, {"referenceValues": [value]}).reference_values[0].expiration == "2026-12-15T00:00:01Z"


def problems_with_certificates(base: Any = SIMPLE, **fields: str) -> list[str]:
    root, sub = certificates("rsa")
    given = {"family": "rsa", "root": root, "sub": sub} | fields
    try:
        read(base, {"virtccaCertificates": given}, production=False)
    except SettingsError as error:
        return [str(problem).removeprefix("ringfence:fence.kbs.") for problem in error.problems]
    return []


def test_huaweis_certificates_are_of_one_family_of_each_other_and_of_today() -> None:
    assert problems_with_certificates() == []
    assert problems_with_certificates(family="ecc") == [
        "virtccaCertificates.root: is not of the ecc family. Correct it, or family.",
        "virtccaCertificates.sub: is not of the ecc family. Correct it, or family.",
    ]
    assert problems_with_certificates(sub=certificates("ecc")[1]) == [
        "virtccaCertificates.sub: is not of the rsa family. Correct it, or family.",
        "virtccaCertificates.sub: was not issued by root. Write two of one family.",
    ]
    root, sub = certificates("rsa", days=-1)
    assert problems_with_certificates(root=root, sub=sub) == [
        "virtccaCertificates.root: has expired. Get the current one from Huawei.",
        "virtccaCertificates.sub: has expired. Get the current one from Huawei.",
    ]


def test_huaweis_certificates_do_not_reach_an_attestation_service_of_its_own() -> None:
    assert problems_with_certificates(MICROSERVICES) == [
        "virtccaCertificates: the operator mounts them for the KBS only, and it is the attestation service, "
        "elsewhere, that reads them. Write deploymentType: AllInOneDeployment, or bake them into the AS image."
    ]


def test_what_works_and_may_surprise_is_said() -> None:
    root, sub = certificates("rsa")
    changes = {"virtccaCertificates": {"family": "rsa", "root": root, "sub": sub}, "replicas": 2}
    found = warnings_of(read(SIMPLE, changes))
    assert [line.split(",")[0] for line in found] == [
        "the KBS gets 2 environment variables",
        "sessions are in the memory of one KBS pod",
        "the cluster chooses the node port",
    ]
    assert warnings_of(read(EAR)) == []
    image = read(MICROSERVICES, {"attestationPolicy": {"kind": "image"}, "trusteeVersion": "0.14"}, production=False)
    assert any("lets whoever reaches the KBS replace an attestation policy" in line for line in warnings_of(image))


@pytest.mark.parametrize(("base", "broker"), [(SIMPLE, "Simple"), (EAR, "Ear")])
def test_the_keys_that_are_made_for_a_section_fit_it(base: Any, broker: Broker) -> None:
    assert judge_secrets(read(base), secrets(broker), TODAY) == []


SEEN = "c2VjcmV0LXRoYXQtbm9ib2R5LW1heS1zZWU"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("kbs-admin-public-key", SEEN, "is no Ed25519 public key in PEM."),
        ("kbs-admin-public-key", "kbs-token-key", "is a private key, and the KBS must not have it."),
        ("kbs-admin-public-key", "kbs-admin-private-key", "is a private key, and the KBS must not have it."),
        ("kbs-tls-key", SEEN, "is no private key in PEM without a passphrase."),
        ("kbs-tls-key", "kbs-token-key", "does not belong to secrets:kbs-tls-certificate."),
        ("kbs-tls-certificate", SEEN, "is no certificate in PEM."),
        (
            "kbs-tls-certificate",
            "kbs-ca-certificate",
            "is not for kbs.example and kbs-service, so clients would refuse it.",
        ),
        ("kbs-token-ca-certificate", "kbs-ca-certificate", "was not issued by secrets:kbs-token-ca-certificate."),
        ("kbs-token-key", "kbs-tls-key", "is not an RSA key, with which Simple signs."),
        ("tenant-a-image-key", f"{SEEN}!", "is no base64."),
        (
            "tenant-a-image-key",
            base64.b64encode(SEEN.encode()).decode(),
            "has 35 bytes, and the key of an image has exactly 32.",
        ),
    ],
)
def test_a_wrong_secret_is_told_by_name_and_fault_and_never_by_value(name: str, value: str, says: str) -> None:
    """value: of another secret where it names one."""
    given = secrets("Simple")
    given[name] = Secret(name, keys("Simple").get(value, value))
    found = judge_secrets(read(SIMPLE), given, TODAY)
    assert any(says in str(problem) and str(problem).startswith("secrets:") for problem in found), found
    said = f"{found} {[str(problem) for problem in found]} {given}"
    assert SEEN not in said
    assert "BEGIN" not in said


def test_certificates_that_have_expired_are_told() -> None:
    found = judge_secrets(read(SIMPLE), secrets("Simple"), TODAY + timedelta(days=366))
    assert {problem.key for problem in found} == {"secrets:kbs-tls-certificate", "secrets:kbs-token-certificate"}
    assert {problem.reason for problem in found} == {"has expired."}


def test_the_certificate_has_to_be_for_the_address_of_the_kbs() -> None:
    authority = new_authority(TODAY)
    other = new_keys(authority, ["10.0.0.1"], "elsewhere", "Simple", TODAY)
    given = secrets("Simple") | {name: Secret(name, value) for name, value in other.items()}
    given["kbs-ca-certificate"] = Secret("kbs-ca-certificate", authority.certificate)
    assert [problem.reason for problem in judge_secrets(read(SIMPLE), given, TODAY)] == [
        "is not for kbs.example, so clients would refuse it."
    ]
    assert judge_secrets(read(SIMPLE, {"address.host": "10.0.0.1"}), given, TODAY) == []


def test_a_secret_prints_its_name_only() -> None:
    secret = Secret("a", SEEN)
    assert SEEN not in f"{secret} {secret!r} {[secret]} { ({'a': secret}) }"


def test_secrets_come_from_the_configuration_and_only_encrypted_ones() -> None:
    before = CONFIG.get()
    pulumi.runtime.set_all_config({"secrets:a": SEEN, "secrets:b": SEEN}, ["secrets:a"])
    try:
        found, problems = secrets_.load(["a", "b", "c"])
    finally:
        CONFIG.set(before)
    assert found["a"].value == SEEN
    assert [str(problem) for problem in problems] == [
        "secrets:b: lies in the stack file in clear, for everyone who can read the repository. Take it for known, make "
        "a new one. Give it on standard input: `pulumi config set --secret secrets:b < FILE`.",
        "secrets:c: is missing. Give it on standard input: `pulumi config set --secret secrets:c < FILE`.",
    ]


def test_a_secret_that_a_command_makes_is_not_asked_for_by_hand() -> None:
    found = secrets_.load(["a"], {"a": "Run it."})[1]
    assert [str(problem) for problem in found] == ["secrets:a: is missing. Run it."]


def test_a_stack_file_is_judged_without_its_passphrase() -> None:
    config = {"secrets:a": {"secure": "v1:x"}, "secrets:b": SEEN}
    found = secrets_.names_in(config, ["a", "b", "c"])
    assert [problem.key for problem in found] == ["secrets:b", "secrets:c"]
    assert SEEN not in str(found)


def test_a_section_names_every_secret_it_needs() -> None:
    assert read(SIMPLE).secret_names == [
        "kbs-admin-public-key",
        "kbs-tls-key",
        "kbs-tls-certificate",
        "kbs-ca-certificate",
        "kbs-token-key",
        "kbs-token-certificate",
        "kbs-token-ca-certificate",
        "tenant-a-image-key",
    ]


def test_outside_production_an_own_policy_may_say_anything() -> None:
    text = "package policy\ndefault allow := true\n"
    assert (
        read(SIMPLE, {"resourcePolicy": {"kind": "own", "text": text}}, production=False).resource_policy.text == text
    )
