"""Keys and certificates of a KBS, made on request: for its administrator, for TLS, and for attestation tokens."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from components import certificates
from components.certificates import Key, certificate_pem, leaf, private_pem, public_pem
from settings.kbs_secrets import SERVICE
from settings.trustee import Broker

ADMIN_PRIVATE, ADMIN_PUBLIC = "kbs-admin-private-key", "kbs-admin-public-key"
CA_KEY, CA_CERTIFICATE = "kbs-ca-key", "kbs-ca-certificate"
TLS_KEY, TLS_CERTIFICATE = "kbs-tls-key", "kbs-tls-certificate"
TOKEN_KEY, TOKEN_CERTIFICATE, TOKEN_CA = "kbs-token-key", "kbs-token-certificate", "kbs-token-ca-certificate"

AUTHORITY_VALID = datetime.timedelta(days=3650)
"""It is in the guests' root file systems, which nobody likes to build anew."""
VALID = datetime.timedelta(days=365)


@dataclass(frozen=True)
class Authority:
    """Signs the certificate of the KBS. PEM; the key is not to be printed."""

    certificate: str
    key: str = field(repr=False)


def new_authority(now: datetime.datetime) -> Authority:
    """One whose certificate guests are given. now: with a time zone."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = certificates.authority(key, "ringfence KBS CA", now, AUTHORITY_VALID)
    return Authority(certificate_pem(certificate), private_pem(key))


def new_keys(
    authority: Authority, hosts: Sequence[str], namespace: str, broker: Broker, now: datetime.datetime
) -> Mapping[str, str]:
    """Name of a secret → PEM: the administrator's pair, the KBS's certificate, and what signs tokens.

    hosts: names and addresses by which guests and people reach the KBS. namespace: of its Service.
    """
    admin = ed25519.Ed25519PrivateKey.generate()
    tls = ec.generate_private_key(ec.SECP256R1())
    inside = [SERVICE, f"{SERVICE}.{namespace}", f"{SERVICE}.{namespace}.svc"]
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    issuer_key = serialization.load_pem_private_key(authority.key.encode(), None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key of the authority is none that was made here")
    # Trustee signs with nothing else: Ear with ES256, Simple with RS384 (attestation-service/src/token).
    signer: Key = (
        rsa.generate_private_key(65537, 3072) if broker == "Simple" else ec.generate_private_key(ec.SECP256R1())
    )
    token_key = ec.generate_private_key(ec.SECP256R1())
    token_authority = certificates.authority(token_key, "ringfence attestation tokens", now, AUTHORITY_VALID)
    serving = leaf(
        tls,
        SERVICE,
        issuer,
        issuer_key,
        now,
        VALID,
        hosts=[*hosts, *inside],
        purposes=[ExtendedKeyUsageOID.SERVER_AUTH],
    )
    signing = leaf(signer, "attestation-service", token_authority, token_key, now, VALID)
    return {
        ADMIN_PRIVATE: private_pem(admin),
        ADMIN_PUBLIC: public_pem(admin),
        TLS_KEY: private_pem(tls),
        TLS_CERTIFICATE: certificate_pem(serving),
        TOKEN_KEY: private_pem(signer),
        TOKEN_CERTIFICATE: certificate_pem(signing),
        TOKEN_CA: certificate_pem(token_authority),
    }
