"""Whether the secrets of the KBS are what they should be. What is said of one is its name and the fault, never more."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from settings.errors import Problem
from settings.kbs import KbsSettings, Resource, Signer, Tls
from settings.secrets import Secret, key_of, remedy_for

IMAGE_KEY_BYTES = 32
SERVICE = "kbs-service"
"""The operator's Service, by which what runs beside the KBS reaches it."""

MADE = frozenset(
    {
        "kbs-admin-public-key",
        "kbs-ca-certificate",
        "kbs-tls-certificate",
        "kbs-tls-key",
        "kbs-token-ca-certificate",
        "kbs-token-certificate",
        "kbs-token-key",
    }
)
"""Those that `ringfence fence keys` makes, by the names that a section takes where it says none."""

_KEYS = "Run `ringfence fence keys --rotate` to make a new set."


def judge_secrets(kbs: KbsSettings, secrets: Mapping[str, Secret], today: datetime) -> list[Problem]:
    """Every problem of the secrets that are there. today: with a time zone, for certificates."""
    found = _admin(kbs.admin_public_key, secrets)
    if kbs.tls is not None:
        found += _pair(kbs.tls, secrets, today)
        found += _names(kbs, kbs.tls.certificate, secrets)
    if kbs.token.signer is not None:
        found += _pair(kbs.token.signer, secrets, today)
        found += _signing_key(kbs, kbs.token.signer.key, secrets)
    for keys in kbs.resources.values():
        for one in keys.values():
            found += _resource(one, secrets)
    # One certificate may be asked for in two places.
    return list(dict.fromkeys(found))


def remedies(kbs: KbsSettings, stack: str) -> Mapping[str, str]:
    """Name → how it gets there, of those that one command makes together."""
    words = f"ringfence fence keys --stack {stack} --host {kbs.address.host} --broker {kbs.token.broker}"
    return {name: f"Run `{words}`, which makes all of them." for name in kbs.secret_names if name in MADE}


def resource_bytes(one: Resource, secrets: Mapping[str, Secret]) -> bytes:
    """The value of a resource that is a secret. ValueError where it is not in its form."""
    if one.secret is None:
        raise ValueError("this resource is no secret")
    value = secrets[one.secret].value
    if one.form == "text":
        return value.encode()
    try:
        data = base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        # The library's message may quote what it could not read.
        raise ValueError("is no base64.") from None
    if one.form == "imageKey" and len(data) != IMAGE_KEY_BYTES:
        raise ValueError(f"has {len(data)} bytes, and the key of an image has exactly {IMAGE_KEY_BYTES}.")
    return data


def _resource(one: Resource, secrets: Mapping[str, Secret]) -> list[Problem]:
    if one.secret is None or one.secret not in secrets:
        return []
    try:
        resource_bytes(one, secrets)
    except ValueError as error:
        return [Problem(key_of(one.secret), str(error), remedy_for(one.secret))]
    return []


def _admin(name: str, secrets: Mapping[str, Secret]) -> list[Problem]:
    if name not in secrets:
        return []
    key = None
    with suppress(Exception):
        key = serialization.load_pem_public_key(secrets[name].value.encode())
    if isinstance(key, ed25519.Ed25519PublicKey):
        return []
    if _private(secrets[name]) is not None:
        reason = "is a private key, and the KBS must not have it."
        return [Problem(key_of(name), reason, "Give it the public one: `openssl pkey -pubout`.")]
    return [Problem(key_of(name), "is no Ed25519 public key in PEM.", _KEYS)]


def _pair(pair: Tls | Signer, secrets: Mapping[str, Secret], today: datetime) -> list[Problem]:
    """A key, its certificate and the authority's: readable, of one another, and of today."""
    found: list[Problem] = []
    parsed: dict[str, x509.Certificate] = {}
    for name in (pair.certificate, pair.ca):
        if name not in secrets:
            continue
        certificate = _certificate(secrets[name])
        if certificate is None:
            found.append(Problem(key_of(name), "is no certificate in PEM.", _KEYS))
            continue
        parsed[name] = certificate
        if certificate.not_valid_after_utc <= today:
            found.append(Problem(key_of(name), "has expired.", _KEYS))
    if pair.key in secrets:
        key = _private(secrets[pair.key])
        if key is None:
            found.append(Problem(key_of(pair.key), "is no private key in PEM without a passphrase.", _KEYS))
        elif pair.certificate in parsed and key.public_key() != parsed[pair.certificate].public_key():
            found.append(Problem(key_of(pair.key), f"does not belong to {key_of(pair.certificate)}.", _KEYS))
    if pair.certificate in parsed and pair.ca in parsed:
        try:
            parsed[pair.certificate].verify_directly_issued_by(parsed[pair.ca])
        except Exception:  # the library raises several kinds for what does not fit
            found.append(Problem(key_of(pair.certificate), f"was not issued by {key_of(pair.ca)}.", _KEYS))
    return found


def _names(kbs: KbsSettings, name: str, secrets: Mapping[str, Secret]) -> list[Problem]:
    certificate = _certificate(secrets[name]) if name in secrets else None
    if certificate is None:
        return []
    hosts: Sequence[str] = ()
    with suppress(x509.ExtensionNotFound):
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
        hosts = [*names.get_values_for_type(x509.DNSName), *addresses]
    missing = [host for host in (kbs.address.host, SERVICE) if host not in hosts]
    if not missing:
        return []
    return [Problem(key_of(name), f"is not for {' and '.join(missing)}, so clients would refuse it.", _KEYS)]


def _signing_key(kbs: KbsSettings, name: str, secrets: Mapping[str, Secret]) -> list[Problem]:
    key = _private(secrets[name]) if name in secrets else None
    if key is None:
        return []
    if kbs.token.broker == "Simple":
        fits, wanted = isinstance(key, rsa.RSAPrivateKey), "an RSA key"
    else:
        fits = isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1)
        wanted = "a key on P-256"
    if fits:
        return []
    return [Problem(key_of(name), f"is not {wanted}, with which {kbs.token.broker} signs.", _KEYS)]


def _private(secret: Secret) -> Any:
    with suppress(Exception):
        return serialization.load_pem_private_key(secret.value.encode(), None)
    return None


def _certificate(secret: Secret) -> x509.Certificate | None:
    with suppress(ValueError):
        return x509.load_pem_x509_certificate(secret.value.encode())
    return None


def is_address(host: str) -> bool:
    """Whether it is an IP address and no name: certificates tell the two apart."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
