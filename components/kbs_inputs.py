"""What the KBS is given, as plain data: ConfigMaps and Secrets with their names, and the KbsConfig that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from components.content_names import content_name
from components.trustee import paths
from settings.trustee import MICROSERVICES, OPERATOR_POLICY_FILE, RESERVED_VOLUMES, DeploymentType


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """PEM. ca: of the authority that issued the certificate. Not to be printed: `key` is private."""

    key: str = field(repr=False)
    certificate: str
    ca: str


@dataclass(frozen=True, kw_only=True)
class Policy:
    """file: the name under which the attestation service reads it."""

    file: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Kbs:
    """All that a KbsConfig says and all that it names.

    as_config, rvps_config: for MicroservicesDeployment only. attestation_policy: None for the one of the AS image.
    resources: name of a Secret → key → value. virtcca: Huawei's certificates, PEM: root and the one below.
    ValueError for what the operator cannot mount.
    """

    deployment_type: DeploymentType
    kbs_toml: str
    reference_values: str
    resource_policy: str
    admin_public_key: str
    attestation_policy: Policy | None = None
    as_config: str | None = None
    rvps_config: str | None = None
    tls: KeyPair | None = None
    signer: KeyPair | None = None
    virtcca: tuple[str, str] | None = None
    resources: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict, repr=False)
    service_type: str = "ClusterIP"
    env: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1

    def __post_init__(self) -> None:
        micro = self.deployment_type == MICROSERVICES
        if micro != (self.as_config is not None) or micro != (self.rvps_config is not None):
            raise ValueError("as_config and rvps_config go with MicroservicesDeployment, and only with that")
        if micro and (self.signer or self.virtcca or _cached(self)):
            raise ValueError("the operator mounts signer, certificates and this policy into the KBS only, not the AS")
        names = [*self.resources, *(one.name for one in inputs_of(self))]
        wrong = sorted({name for name in names if names.count(name) > 1 or name in RESERVED_VOLUMES})
        if wrong:
            raise ValueError(f"two volumes of the KBS pod would have the same name: {', '.join(wrong)}")


@dataclass(frozen=True, kw_only=True)
class Input:
    """A ConfigMap or Secret that never changes: other content is another name.

    role: what it is for, and its name in Pulumi. mount_path: for a Secret that kbsLocalCertCacheSpec mounts.
    """

    kind: Literal["ConfigMap", "Secret"]
    role: str
    name: str
    files: Mapping[str, str] = field(repr=False)
    mount_path: str | None = None


def inputs_of(kbs: Kbs) -> list[Input]:
    """Those whose names tell their content. What guests ask for is not among them: its names are part of URIs."""
    found = [
        _config_map("config", {"kbs-config.toml": kbs.kbs_toml}),
        _config_map("reference-values", {"reference-values.json": kbs.reference_values}),
        _config_map("resource-policy", {"policy.rego": kbs.resource_policy}),
        _secret("auth", {paths.AUTH_KEY_FILE: kbs.admin_public_key}),
    ]
    if kbs.as_config is not None:
        found.append(_config_map("as-config", {"as-config.json": kbs.as_config}))
    if kbs.rvps_config is not None:
        found.append(_config_map("rvps-config", {"rvps-config.json": kbs.rvps_config}))
    if kbs.attestation_policy is not None:
        files = {kbs.attestation_policy.file: kbs.attestation_policy.text}
        if _cached(kbs):
            # The whole folder, and so read-only: Trustee before 0.15 lets anyone set a policy that it can write.
            found.append(_secret("attestation-policy", files, mount_path=f"{paths.OWN_POLICIES}/opa"))
        else:
            found.append(_config_map("attestation-policy", files))
    if kbs.tls is not None:
        certificate = {paths.TLS_CERTIFICATE_FILE: kbs.tls.certificate}
        found.append(_secret("tls-certificate", certificate))
        found.append(_secret("tls-key", {paths.TLS_KEY_FILE: kbs.tls.key}, public=certificate))
    if kbs.signer is not None:
        public = {paths.SIGNER_CERTIFICATE_FILE: kbs.signer.certificate, paths.SIGNER_CA_FILE: kbs.signer.ca}
        files = public | {paths.SIGNER_KEY_FILE: kbs.signer.key}
        found.append(_secret("token-signer", files, public=public, mount_path=paths.TOKEN))
    if kbs.virtcca is not None:
        root, sub = kbs.virtcca
        files = {paths.VIRTCCA_ROOT_FILE: root, paths.VIRTCCA_SUB_FILE: sub}
        found.append(_secret("virtcca-certificates", files, mount_path=paths.VIRTCCA))
    return found


def spec_of(kbs: Kbs, inputs: Sequence[Input]) -> dict[str, Any]:
    """The spec of the KbsConfig. Nothing empty is written: the server drops it, and that would be a difference."""
    names = {one.role: one.name for one in inputs}
    cached = [{"secretName": one.name, "mountPath": one.mount_path} for one in inputs if one.mount_path is not None]
    policy = None if _cached(kbs) else names.get("attestation-policy")
    fields = {
        # Always: the operator's documentation and its code disagree on the default, and the code has changed.
        "kbsDeploymentType": kbs.deployment_type,
        "kbsConfigMapName": names["config"],
        "kbsAuthSecretName": names["auth"],
        "kbsServiceType": kbs.service_type,
        "kbsRvpsRefValuesConfigMapName": names["reference-values"],
        "kbsResourcePolicyConfigMapName": names["resource-policy"],
        "kbsAttestationPolicyConfigMapName": policy,
        "kbsAsConfigMapName": names.get("as-config"),
        "kbsRvpsConfigMapName": names.get("rvps-config"),
        "kbsHttpsKeySecretName": names.get("tls-key"),
        "kbsHttpsCertSecretName": names.get("tls-certificate"),
        "kbsSecretResources": sorted(kbs.resources) or None,
        "kbsLocalCertCacheSpec": {"secrets": cached} if cached else None,
        # The capitals are the operator's.
        "KbsEnvVars": dict(sorted(kbs.env.items())) or None,
        "KbsDeploymentSpec": {"replicas": kbs.replicas},
    }
    return {name: value for name, value in fields.items() if value is not None}


def _cached(kbs: Kbs) -> bool:
    """Whether the operator would mount the attestation policy under a name that Trustee does not read."""
    return kbs.attestation_policy is not None and kbs.attestation_policy.file != OPERATOR_POLICY_FILE


def _config_map(role: str, files: Mapping[str, str]) -> Input:
    return Input(kind="ConfigMap", role=role, name=content_name(f"kbs-{role}", files), files=files)


def _secret(
    role: str, files: Mapping[str, str], *, public: Mapping[str, str] | None = None, mount_path: str | None = None
) -> Input:
    """public: what its name may tell, if that is not all of it."""
    name = content_name(f"kbs-{role}", files if public is None else public)
    return Input(kind="Secret", role=role, name=name, files=files, mount_path=mount_path)
