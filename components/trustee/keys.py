"""Keys and certificates of a KBS, made on request: for its administrator, for TLS, and for attestation tokens."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from settings.kbs_secrets import SERVICE, is_address
from settings.trustee import Broker

ADMIN_PRIVATE, ADMIN_PUBLIC = "kbs-admin-private-key", "kbs-admin-public-key"
CA_KEY, CA_CERTIFICATE = "kbs-ca-key", "kbs-ca-certificate"
TLS_KEY, TLS_CERTIFICATE = "kbs-tls-key", "kbs-tls-certificate"
TOKEN_KEY, TOKEN_CERTIFICATE, TOKEN_CA = "kbs-token-key", "kbs-token-certificate", "kbs-token-ca-certificate"

AUTHORITY_VALID = datetime.timedelta(days=3650)
"""It is in the guests' root file systems, which nobody likes to build anew."""
VALID = datetime.timedelta(days=365)

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True)
class Authority:
    """Signs the certificate of the KBS. PEM; the key is not to be printed."""

    certificate: str
    key: str = field(repr=False)


def new_authority(now: datetime.datetime) -> Authority:
    """One whose certificate guests are given. now: with a time zone."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Authority(_pem(_authority(key, "ringfence KBS CA", now)), _private(key))


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
    signer: _Key = (
        rsa.generate_private_key(65537, 3072) if broker == "Simple" else ec.generate_private_key(ec.SECP256R1())
    )
    token_key = ec.generate_private_key(ec.SECP256R1())
    token_authority = _authority(token_key, "ringfence attestation tokens", now)
    return {
        ADMIN_PRIVATE: _private(admin),
        ADMIN_PUBLIC: _public(admin),
        TLS_KEY: _private(tls),
        TLS_CERTIFICATE: _pem(_leaf(tls, SERVICE, [*hosts, *inside], issuer, issuer_key, now)),
        TOKEN_KEY: _private(signer),
        TOKEN_CERTIFICATE: _pem(_leaf(signer, "attestation-service", [], token_authority, token_key, now)),
        TOKEN_CA: _pem(token_authority),
    }


def _authority(key: ec.EllipticCurvePrivateKey, name: str, now: datetime.datetime) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return (
        _builder(subject, subject, key, now, AUTHORITY_VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _leaf(
    key: _Key,
    name: str,
    hosts: Sequence[str],
    issuer: x509.Certificate,
    issuer_key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
) -> x509.Certificate:
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), issuer.subject, key, now, VALID)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
    )
    if hosts:
        names: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address(host)) if is_address(host) else x509.DNSName(host)
            for host in dict.fromkeys(hosts)
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: _Key, now: datetime.datetime, valid: datetime.timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A little earlier, for clocks that are set back.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + valid)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _private(key: _Key) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _public(key: _Key) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )
