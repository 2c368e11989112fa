"""The key broker service: how Trustee is deployed, what it checks, and what it gives to whom.

Values that are secret are under `secrets:` (see settings.secrets); here are their names.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from settings.secrets import SecretName
from settings.section import Section, refused
from settings.trustee import RESERVED_VOLUMES, Broker, DeploymentType, Version
from settings.values import DNS_LABEL, ENV_NAME, SUBDOMAIN, Text

_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_CLAIM = re.compile(r"virtcca(\.[a-z0-9_]+)+")
_DIGEST = re.compile(r"[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_URI = re.compile(r"kbs:///([^/\s]+)/([^/\s]+)/([^/\s]+)")

RIM = "virtcca.realm.rim"


def _quoted(value: Any) -> Any:
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise refused(f"{value} is a number, and YAML takes 0.10 and 0.1 for the same.", f'Write "{value}" in quotes.')
    return value


def _secret_resource(value: str) -> str:
    """The operator names a volume of the pod after it, which is narrower than what a Secret may be called."""
    if not DNS_LABEL.fullmatch(value):
        raise refused(
            f"{value!r} cannot be the name of a volume, which the operator makes of it.",
            "Use up to 63 lower-case letters, digits and dashes, no dots, with a letter or digit at both ends.",
        )
    if value in RESERVED_VOLUMES:
        raise refused(f"{value} is a volume that the operator makes itself.", "Choose another name.")
    return value


def _data_key(value: str) -> str:
    if not _DATA_KEY.fullmatch(value) or value in {".", ".."}:
        raise refused(f"{value!r} cannot be a key of a Secret.", "Use letters, digits, -, _ and dots.")
    return value


def is_host(value: str) -> bool:
    """Whether it is a host name or an IPv4 address, and nothing besides."""
    if re.fullmatch(r"[0-9.]+", value):
        return _is_ipv4(value)
    longest = max(len(label) for label in value.split("."))
    return len(value) <= 253 and longest <= 63 and SUBDOMAIN.fullmatch(value) is not None


def _host(value: str) -> str:
    if not is_host(value):
        raise refused(
            f"{value!r} is no host name and no IPv4 address.", "Write it without scheme, port and path, in lower case."
        )
    return value


def _is_ipv4(value: str) -> bool:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        return False
    return True


def _claim(value: str) -> str:
    if not _CLAIM.fullmatch(value):
        raise refused(f"{value!r} is no claim of virtCCA.", f"Write it dotted, such as {RIM}.")
    return value


def _digest(value: str) -> str:
    if not _DIGEST.fullmatch(value):
        raise refused(
            f"{value!r} is no digest.", "Write all its hexadecimal digits, 64, 96 or 128 of them, in lower case."
        )
    return value


def _moment(value: str) -> str:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} .*UTC", value):
        # What YAML takes for a moment reaches us as pulumi writes one.
        raise refused("has no quotes, and is no text without them.", 'Write it as "2027-01-31T00:00:00Z", in quotes.')
    if not _MOMENT.fullmatch(value):
        raise refused(f"{value!r} is not in the form that the RVPS reads.", "Write it as 2027-01-31T00:00:00Z.")
    return value


def _uri(value: str) -> str:
    found = _URI.fullmatch(value)
    if not found:
        raise refused(f"{value!r} is no address of a resource.", "Write kbs:///default/<Secret>/<key>.")
    if found[1] != "default":
        raise refused(
            f"{value!r} is in the repository {found[1]}, and the operator fills only default.",
            f"Write kbs:///default/{found[2]}/{found[3]}.",
        )
    return value


def _known_to_all(value: str) -> str:
    if re.search(r"-----BEGIN [A-Z ]*PRIVATE KEY-----", value):
        raise refused(
            "is a private key, and lies in the stack file in clear, for everyone who can read the repository.",
            "Take it for known, make a new one, and give that as a secret: write secret and its name instead of text.",
        )
    return value


def _someone(value: dict[str, str]) -> dict[str, str]:
    if not value:
        raise refused("names nobody, so no image could run.", "Name a registry or repository and its cosign key.")
    return value


def _env(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if not ENV_NAME.fullmatch(name):
            raise refused(f"{name!r} cannot be an environment variable.", "Use letters, digits and _.")
    return value


def _no_bare_value(value: Any) -> Any:
    if value is not None and not isinstance(value, dict):
        # Not quoted: it may be what guests are to be given in secret.
        raise refused(
            "is no mapping, and what it is is not repeated in case it is secret.",
            "Write <key>: {secret: NAME}, or text or imagePolicy instead of secret.",
        )
    return value


Host = Annotated[str, AfterValidator(_host)]
SecretResource = Annotated[str, AfterValidator(_secret_resource)]
DataKey = Annotated[str, AfterValidator(_data_key)]
Claim = Annotated[str, AfterValidator(_claim)]
Digest = Annotated[str, AfterValidator(_digest)]
Moment = Annotated[str, AfterValidator(_moment)]
KbsUri = Annotated[str, AfterValidator(_uri)]


class Address(Section):
    """Where a guest reaches the KBS. It is measured with the kernel's command line, so it should never change."""

    host: Host = Field(description="a host name or IPv4 address that a guest can reach, the same for years")
    port: int = Field(default=8080, ge=1, le=65535, description="the port there")


class Tls(Section):
    """`ringfence fence keys` makes all three."""

    key: SecretName = Field(default="kbs-tls-key", description="name of the secret with the private key, PEM")
    certificate: SecretName = Field(
        default="kbs-tls-certificate", description="name of the secret with the certificate, PEM"
    )
    ca: SecretName = Field(
        default="kbs-ca-certificate",
        description="name of the secret with the certificate of the authority that guests trust, PEM",
    )


class Signer(Section):
    """Signs attestation tokens. `ringfence fence keys` makes all three."""

    key: SecretName = Field(default="kbs-token-key", description="name of the secret with the private key, PEM")
    certificate: SecretName = Field(
        default="kbs-token-certificate", description="name of the secret with the certificate, PEM"
    )
    ca: SecretName = Field(
        default="kbs-token-ca-certificate", description="name of the secret with the authority's certificate, PEM"
    )


class Token(Section):
    """The verdict on a guest, as the KBS is shown it."""

    broker: Broker = Field(description="Ear or Simple: how the attestation service words its verdict")
    minutes: int = Field(default=5, ge=1, le=1440, description="minutes that a verdict is good for")
    signer: Signer | None = Field(default=None, description="what signs it, so that nobody else can make one")


class Insecure(Section):
    """Each opens the KBS to everyone who can reach it."""

    http: bool = Field(default=False, description="true serves without TLS")
    api: bool = Field(default=False, description="true lets anyone set resources and policies")
    key: bool = Field(default=False, description="true believes whoever signs a token")

    @property
    def chosen(self) -> list[str]:
        return [name for name in ("http", "api", "key") if getattr(self, name)]


class ImagePolicy(Section):
    """Who must have signed an image that a guest runs; whatever is not named is refused."""

    signed_by: Annotated[dict[Text, KbsUri], AfterValidator(_someone)] = Field(
        description="registry or repository → kbs:///default/<Secret>/<key> of the cosign public key"
    )


class Resource(Section):
    """One value that a guest may ask for, as kbs:///default/<Secret>/<key>."""

    secret: SecretName | None = Field(default=None, description="name of the secret with the value")
    form: Literal["text", "base64", "imageKey"] = Field(
        default="text",
        description="how the secret is written: text, base64, or imageKey for the base64 of an image's 32-byte key",
    )
    text: Annotated[Text, AfterValidator(_known_to_all)] | None = Field(
        default=None, description="the value itself, where it is for everyone to know"
    )
    image_policy: ImagePolicy | None = Field(default=None, description="a security policy for images, written for you")

    @model_validator(mode="before")
    @classmethod
    def _mapping(cls, value: Any) -> Any:
        return _no_bare_value(value)

    @model_validator(mode="after")
    def _one(self) -> Resource:
        given = [name for name in ("secret", "text", "image_policy") if getattr(self, name) is not None]
        if len(given) != 1:
            raise refused(
                "has no value." if not given else "has more than one value.", "Write one of secret, text, imagePolicy."
            )
        if self.secret is None and self.form != "text":
            raise refused(f"form {self.form} is about a secret.", "Remove form, or name a secret.")
        return self


class ResourcePolicy(Section):
    """Which attested guest may have which resource."""

    kind: Literal["affirming", "byTenant", "denyAll", "allowAll", "own"] = Field(
        description="affirming (guests that the attestation policy vouches for), byTenant, denyAll, allowAll or own"
    )
    tenants: dict[SecretResource, tuple[Digest, ...]] | None = Field(
        default=None, description="for byTenant: name of a Secret → RIMs of the guests that may have what is in it"
    )
    text: Text | None = Field(default=None, description="for own: the rego, package policy with allow")

    @model_validator(mode="after")
    def _fitting(self) -> ResourcePolicy:
        for kind, name, value in (("byTenant", "tenants", self.tenants), ("own", "text", self.text)):
            if self.kind == kind and not value:
                raise refused(f"kind {kind} needs {name}.", f"Add {name}.")
            if self.kind != kind and value is not None:
                raise refused(f"{name} is only for kind {kind}.", f"Remove {name}, or write kind: {kind}.")
        return self


class AttestationPolicy(Section):
    """What a guest has to prove."""

    kind: Literal["virtcca", "own", "image"] = Field(
        description="virtcca (every reference value has to match), own, or image (the one that the AS image brings)"
    )
    text: Text | None = Field(default=None, description="for own: the rego, package policy")

    @model_validator(mode="after")
    def _fitting(self) -> AttestationPolicy:
        if self.kind == "own" and self.text is None:
            raise refused("kind own needs text.", "Add text.")
        if self.kind != "own" and self.text is not None:
            raise refused("text is only for kind own.", "Remove text, or write kind: own.")
        return self


class ReferenceValue(Section):
    """What a measurement has to be."""

    name: Claim = Field(description=f"the claim, dotted, such as {RIM}")
    values: tuple[Digest, ...] = Field(min_length=1, description="the digests, any of which is right")
    expiration: Moment = Field(description="until when it counts, as 2027-01-31T00:00:00Z")
    algorithm: Literal["sha256", "sha384", "sha512"] = Field(default="sha256", description="of the digests")


class VirtccaCertificates(Section):
    """Huawei's, with which the evidence of a Kunpeng host is verified. One family for a deployment."""

    family: Literal["rsa", "ecc"] = Field(description="rsa or ecc, as the hosts' devices have")
    root: Text = Field(description="the root's certificate, PEM")
    sub: Text = Field(description="the certificate below it, PEM")


class KbsSettings(Section):
    """One KbsConfig, with all that it names."""

    deployment_type: DeploymentType = Field(
        description="AllInOneDeployment or MicroservicesDeployment; what the operator takes without it has changed"
    )
    trustee_version: Annotated[Version, BeforeValidator(_quoted)] = Field(
        description='version of Trustee in the KBS images, such as "0.12"; file names and formats depend on it'
    )
    address: Address = Field(description="where guests reach the KBS: host, port")
    token: Token = Field(description="the attestation token: broker, minutes, signer")
    resource_policy: ResourcePolicy = Field(description="which guest may have which resource: kind")
    attestation_policy: AttestationPolicy = Field(description="what a guest has to prove: kind")
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field(
        default="ClusterIP", description="type of the operator's Service: ClusterIP, NodePort or LoadBalancer"
    )
    tls: Tls | None = Field(default=None, description="names of the secrets for TLS")
    admin_public_key: SecretName = Field(
        default="kbs-admin-public-key",
        description="name of the secret with the Ed25519 public key, PEM, whose owner may administer the KBS",
    )
    insecure: Insecure = Field(default_factory=Insecure, description="what is left open, outside production only")
    reference_values: tuple[ReferenceValue, ...] = Field(default=(), description="what measurements have to be")
    virtcca_certificates: VirtccaCertificates | None = Field(
        default=None, description="Huawei's device certificates: family, root, sub"
    )
    resources: dict[SecretResource, Annotated[dict[DataKey, Resource], BeforeValidator(_no_bare_value)]] = Field(
        default_factory=dict, description="what guests may ask for: name of a Secret → key → value"
    )
    env: Annotated[dict[str, str], AfterValidator(_env)] = Field(
        default_factory=dict, description="environment variables of every container of the KBS"
    )
    replicas: int = Field(default=1, ge=1, description="pods; a change replaces the KbsConfig")
    ready_timeout: int = Field(default=300, ge=10, le=3600, description="seconds to wait until the KBS is available")
    delete_timeout: int = Field(default=120, ge=10, le=3600, description="seconds to wait until the KbsConfig is gone")

    @property
    def url(self) -> str:
        """Where guests reach it, as in agent.aa_kbc_params after `cc_kbc::`."""
        return f"{'https' if self.tls else 'http'}://{self.address.host}:{self.address.port}"

    @property
    def secret_names(self) -> list[str]:
        """Every secret it needs, in order."""
        names = [self.admin_public_key]
        for pair in (self.tls, self.token.signer):
            names += [pair.key, pair.certificate, pair.ca] if pair is not None else []
        names += [one.secret for keys in self.resources.values() for one in keys.values() if one.secret is not None]
        return list(dict.fromkeys(names))
