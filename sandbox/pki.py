"""The certificates of a sandbox: three authorities, a serving certificate, one client certificate per identity.

The authorities differ on purpose. kube-apiserver believes user names in headers from whoever shows a certificate of
the front-proxy authority, so that one must not sign clients (it refuses the same CA for both); etcd takes any client
of its authority as root.
"""

from __future__ import annotations

import datetime
import shutil
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from components import certificates
from sandbox import places
from sandbox.report import Report

VALID = datetime.timedelta(days=365)
RENEW_BEFORE = datetime.timedelta(days=7)

AUTHORITIES = ("ca", "front-proxy-ca", "etcd-ca")
SERVICE_ACCOUNT = "service-account"
SERVICE_IP = "10.96.0.1"
"""The first address of the service range: what pods know the API server as."""

_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_LOOPBACK = ("127.0.0.1",)


@dataclass(frozen=True)
class Leaf:
    """A certificate to be issued. user and groups become CN and O, which is how Kubernetes names a client."""

    name: str
    authority: str
    user: str
    groups: tuple[str, ...] = ()
    client: bool = True
    server: bool = False
    addresses: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


LEAVES = (
    Leaf("serving", "ca", "ringfence-serving", (), False, True, (*_LOOPBACK, SERVICE_IP), _NAMES),
    Leaf("admin", "ca", "ringfence-admin", ("system:masters",)),
    Leaf("controller-manager", "ca", "system:kube-controller-manager"),
    Leaf("scheduler", "ca", "system:kube-scheduler"),
    # kwok plays every kubelet and every node at once; no narrower built-in role covers that.
    Leaf("kwok", "ca", "ringfence-kwok", ("system:masters",)),
    Leaf("front-proxy-client", "front-proxy-ca", "front-proxy-client"),
    # etcd's own gateway dials itself with its serving certificate, hence client too.
    Leaf("etcd-server", "etcd-ca", "etcd-server", (), True, True, _LOOPBACK, ("localhost",)),
    Leaf("etcd-peer", "etcd-ca", "etcd-peer", (), True, True, _LOOPBACK, ("localhost",)),
    Leaf("etcd-client", "etcd-ca", "kube-apiserver"),
)


def certificate_of(folder: Path, name: str) -> Path:
    """The PEM certificate of a leaf or an authority."""
    return folder / f"{name}.crt"


def key_of(folder: Path, name: str) -> Path:
    """The PEM key of a leaf, an authority or the service accounts."""
    return folder / f"{name}.key"


def public_key_of(folder: Path, name: str) -> Path:
    """The PEM public key of the service accounts."""
    return folder / f"{name}.pub"


def ensure(folder: Path, report: Report) -> None:
    """Make the certificates, unless there are good ones: those of a running sandbox must not change under it."""
    if folder.exists():
        fault = fault_of(folder)
        if fault is None:
            return
        report.say(f"The certificates in {folder} are of no use ({fault}): making new ones.")
    create(folder)


def create(folder: Path) -> None:
    """Make all of them, replacing what is there. The folder appears in one step, so it is never half written."""
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    places.private(fresh)
    now = datetime.datetime.now(datetime.UTC)
    authorities = {name: _authority(fresh, name, now) for name in AUTHORITIES}
    for leaf in LEAVES:
        _issue(fresh, leaf, *authorities[leaf.authority], now)
    key = ec.generate_private_key(ec.SECP256R1())
    _write_key(key_of(fresh, SERVICE_ACCOUNT), key)
    public_key_of(fresh, SERVICE_ACCOUNT).write_text(certificates.public_pem(key))
    shutil.rmtree(folder, ignore_errors=True)
    fresh.replace(folder)


def fault_of(folder: Path) -> str | None:
    """What is wrong with the certificates in a folder, None if nothing is. Reads them all, in some milliseconds."""
    soon = datetime.datetime.now(datetime.UTC) + RENEW_BEFORE
    name = ""
    try:
        for name in (*AUTHORITIES, *(leaf.name for leaf in LEAVES)):
            certificate = load(folder, name)
            key = serialization.load_pem_private_key(key_of(folder, name).read_bytes(), None)
            if key.public_key() != certificate.public_key():
                return f"{name}.key does not belong to {name}.crt"
            if certificate.not_valid_after_utc < soon:
                return f"{name}.crt ends on {certificate.not_valid_after_utc:%Y-%m-%d}"
        for leaf in LEAVES:
            name = leaf.name
            load(folder, name).verify_directly_issued_by(load(folder, leaf.authority))
        name = SERVICE_ACCOUNT
        account = serialization.load_pem_private_key(key_of(folder, name).read_bytes(), None)
        if account.public_key() != serialization.load_pem_public_key(public_key_of(folder, name).read_bytes()):
            return "service-account.key does not belong to service-account.pub"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except Exception as error:  # the library raises half a dozen kinds for a file that is no certificate
        return f"{name} cannot be read: {error}"
    return None


def load(folder: Path, name: str) -> x509.Certificate:
    """The certificate of a leaf or an authority. OSError or ValueError if it is not one."""
    return x509.load_pem_x509_certificate(certificate_of(folder, name).read_bytes())


def _authority(folder: Path, name: str, now: datetime.datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = certificates.authority(key, f"ringfence-{name}", now, VALID)
    _write(folder, name, certificate, key)
    return certificate, key


def _issue(
    folder: Path,
    leaf: Leaf,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = certificates.leaf(
        key,
        leaf.user,
        authority,
        authority_key,
        now,
        VALID,
        groups=leaf.groups,
        hosts=(*leaf.addresses, *leaf.hosts),
        purposes=[ExtendedKeyUsageOID.CLIENT_AUTH] * leaf.client + [ExtendedKeyUsageOID.SERVER_AUTH] * leaf.server,
    )
    _write(folder, leaf.name, certificate, key)


def _write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    certificate_of(folder, name).write_text(certificates.certificate_pem(certificate))
    _write_key(key_of(folder, name), key)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_text(certificates.private_pem(key))
