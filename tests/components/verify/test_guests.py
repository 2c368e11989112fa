"""Whether what guests will ask for is there: a signed image's policy and keys, a registry's credentials, image keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.verify.guests import judge_asked_for
from settings.fence import Fence
from tests.components.verify.clusters import NAMESPACE, lines, secret, snapshot, thing
from tests.settings.cc import RUNTIME, WORKLOAD
from tests.settings.kbs_files import SIMPLE

POLICY = {
    "default": [{"type": "reject"}],
    "transports": {"docker": {"registry.example": [{"type": "sigstoreSigned", "keyPath": "kbs:///default/cosign/1"}]}},
}
KEYS = {"cosign": {"1": b"key"}, "policy": {"p": json.dumps(POLICY).encode()}, "tenant-a": {"image-key": bytes(32)}}
SIGNED = "signed image of team/model"


def fence(**workload: str) -> Fence:
    given = {"ccRuntime": RUNTIME, "kbs": SIMPLE, "workloads": [{**WORKLOAD, **workload}]}
    return Fence.model_validate_json(json.dumps(given), strict=True)


def said(check: str, changes: dict[str, dict[str, bytes]] | None = None, **workload: str) -> list[str]:
    held = KEYS | (changes or {})
    objects: list[Any] = [secret(name, files) for name, files in held.items() if files]
    objects.append(thing("KbsConfig", "kbsconfig", NAMESPACE, spec={"kbsSecretResources": sorted(held)}))
    return lines(judge_asked_for(fence(**workload), NAMESPACE, snapshot(*objects)), check)


@pytest.mark.parametrize(
    ("uri", "changes", "wanted"),
    [
        ("policy/p", {}, "ok: kbs:///default/policy/p refuses what is not named, and every key it names is there."),
        (
            "policy/q",
            {},
            "failed: kbs:///default/policy/q leads nowhere: Secret policy has no q, so no image starts.",
        ),
        (
            "other/p",
            {},
            "failed: kbs:///default/other/p leads nowhere: there is no Secret other in operator, so no image starts.",
        ),
        (
            "policy/p",
            {"cosign": {}},
            "failed: its policy names a key, and kbs:///default/cosign/1 leads nowhere: there is no Secret cosign in "
            "operator.",
        ),
        ("policy/p", {"policy": {"p": b"{"}}, "failed: kbs:///default/policy/p is no policy in JSON."),
        (
            "policy/p",
            {"policy": {"p": b'{"default": [{"type": "insecureAcceptAnything"}]}'}},
            "failed: kbs:///default/policy/p lets images pass that nobody named.",
        ),
    ],
)
def test_the_policy_of_a_signed_image(uri: str, changes: dict[str, dict[str, bytes]], wanted: str) -> None:
    assert said(SIGNED, changes, signaturePolicyUri=f"kbs:///default/{uri}") == [wanted]


def test_a_repository_that_the_operator_does_not_fill() -> None:
    (found,) = said(SIGNED, signaturePolicyUri="kbs:///mine/policy/p")
    assert "is in the repository mine, and the operator fills only default" in found


def test_another_key_broker_is_not_seen_from_here() -> None:
    there = said(SIGNED, signaturePolicyUri="kbs:///default/policy/p", kbsUrl="https://other.example:8080")
    assert there == ["unknown: it asks the key broker at https://other.example:8080, which is not this stack's."]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b'{"auths": {"registry.example": {}}}', "ok: kbs:///default/auth/a is there; what is in it is not tried."),
        (b"user:password", "failed: kbs:///default/auth/a is no .dockerconfigjson with auths."),
        (b"", "failed: kbs:///default/auth/a leads nowhere: Secret auth has an empty a, so no image is pulled."),
    ],
)
def test_the_credentials_of_a_registry(text: bytes, wanted: str) -> None:
    changes = {"auth": {"a": text}}
    assert said("registry of team/model", changes, registryAuthUri="kbs:///default/auth/a") == [wanted]


def test_the_key_of_an_encrypted_image_has_32_bytes() -> None:
    uri = "kbs:///default/tenant-a/image-key"
    check = "key of an encrypted image"
    assert said(check) == [f"ok: {uri} is there, of 32 bytes; whether an image is encrypted with it is unknown."]
    short = {"tenant-a": {"image-key": bytes(31)}}
    assert said(check, short) == [f"failed: {uri} has 31 bytes, and the key of an image has exactly 32."]


def test_a_secret_that_the_kbs_config_does_not_name_is_not_served() -> None:
    objects = [secret("tenant-a", {"image-key": bytes(32)}), thing("KbsConfig", "kbsconfig", NAMESPACE, spec={})]
    (found,) = lines(judge_asked_for(fence(), NAMESPACE, snapshot(*objects)), "key of an encrypted image")
    assert "the KbsConfig does not name Secret tenant-a" in found
