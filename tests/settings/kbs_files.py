"""The KBS's section of a stack file: a right one for Trustee 0.12 with Simple, one for 0.15 with Ear, and changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from pydantic import Field, ValidationError

from components.trustee.keys import new_authority, new_keys
from settings.errors import SettingsError
from settings.explain import problems
from settings.kbs import KbsSettings
from settings.kbs_checks import judge_kbs
from settings.secrets import Secret
from settings.section import Section
from settings.trustee import Broker
from tests.settings.files import changed

TODAY = datetime(2026, 12, 1, tzinfo=UTC)
RIM = "59cbfed47932c52b6d36723727a6abe67547c22e6569b423562376e87ed8b3d5"

SIMPLE: Mapping[str, Any] = {
    "deploymentType": "AllInOneDeployment",
    "trusteeVersion": "0.12",
    "address": {"host": "kbs.example", "port": 30080},
    "serviceType": "NodePort",
    "tls": {},
    "token": {"broker": "Simple", "signer": {}},
    "resourcePolicy": {"kind": "affirming"},
    "attestationPolicy": {"kind": "virtcca"},
    "referenceValues": [{"name": "virtcca.realm.rim", "values": [RIM], "expiration": "2027-11-30T00:00:00Z"}],
    "resources": {
        "cosign-key": {"1": {"text": "-----BEGIN PUBLIC KEY-----\n"}},
        "security-policy": {"test": {"imagePolicy": {"signedBy": {"registry.example": "kbs:///default/cosign-key/1"}}}},
        "tenant-a": {"image-key": {"secret": "tenant-a-image-key", "form": "imageKey"}},
    },
}
EAR: Mapping[str, Any] = {
    **SIMPLE,
    "trusteeVersion": "0.15",
    "token": {"broker": "Ear", "signer": {}, "minutes": 10},
    "resourcePolicy": {"kind": "byTenant", "tenants": {"tenant-a": [RIM]}},
    "serviceType": "LoadBalancer",
}
MICROSERVICES: Mapping[str, Any] = {
    **SIMPLE,
    "deploymentType": "MicroservicesDeployment",
    "trusteeVersion": "0.15",
    "token": {"broker": "Ear"},
    "insecure": {"key": True},
}


class Fence(Section):
    """As in a stack file."""

    kbs: KbsSettings = Field(description="the key broker")


class Whole(Section):
    """As in a stack file."""

    fence: Fence = Field(description="confidential containers")


def read(
    base: Mapping[str, Any],
    changes: Mapping[str, Any] | None = None,
    *,
    production: bool = True,
    one_cluster: bool = False,
) -> KbsSettings:
    """As a stack file is read. SettingsError tells every problem."""
    text = json.dumps({"fence": {"kbs": changed(base, changes or {})}})
    try:
        found = Whole.model_validate_json(text, strict=True).fence.kbs
    except ValidationError as error:
        raise SettingsError(problems(error, Whole), "Pulumi.test.yaml") from None
    wrong = judge_kbs(found, production=production, one_cluster=one_cluster, today=TODAY)
    if wrong:
        raise SettingsError(wrong, "Pulumi.test.yaml")
    return found


@cache
def keys(broker: Broker) -> Mapping[str, str]:
    """What `ringfence fence keys` makes, made once for all tests."""
    authority = new_authority(TODAY)
    made = new_keys(authority, ["kbs.example"], "trustee-operator-system", broker, TODAY)
    return {**made, "kbs-ca-certificate": authority.certificate}


def secrets(broker: Broker, **others: str) -> dict[str, Secret]:
    """With the image key of tenant-a; others: name, with _ for -, → value."""
    values = {**keys(broker), "tenant-a-image-key": "A" * 43 + "="}
    values |= {name.replace("_", "-"): value for name, value in others.items()}
    return {name: Secret(name, value) for name, value in values.items()}


@cache
def certificates(family: str, days: int = 30) -> tuple[str, str]:
    """Two such as Huawei's, root and the one below, which end some days after TODAY."""

    def key() -> Any:
        return rsa.generate_private_key(65537, 2048) if family == "rsa" else ec.generate_private_key(ec.SECP384R1())

    def name(words: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, words)])

    root_key, sub_key = key(), key()
    found = []
    for subject, public in ((name("root"), root_key), (name("sub"), sub_key)):
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name("root"))
            .public_key(public.public_key())
            .serial_number(7)
            .not_valid_before(TODAY - timedelta(days=300))
            .not_valid_after(TODAY + timedelta(days=days))
            .sign(root_key, hashes.SHA256())
        )
        found.append(certificate.public_bytes(serialization.Encoding.PEM).decode())
    return found[0], found[1]
