"""From what the stack file says of the KBS, and the secrets it names, to what the KBS is given."""

from __future__ import annotations

from collections.abc import Mapping

from components.kbs_inputs import Kbs, KeyPair, Policy
from components.trustee import paths
from components.trustee.attestation_policy import attestation_policy
from components.trustee.image_policy import image_policy
from components.trustee.kbs_toml import KbsToml, Signer, TokenBroker, kbs_toml
from components.trustee.reference_values import Reference, reference_values
from components.trustee.resource_policy import ALLOW_ALL, DENY_ALL, affirming, by_tenant
from components.trustee.services import as_config, rvps_config
from settings import kbs as section
from settings.kbs_checks import VIRTCCA_ENV
from settings.kbs_secrets import resource_bytes
from settings.secrets import Secret
from settings.trustee import MICROSERVICES, OPERATOR_POLICY_FILE, payload_limit, policy_file

PAYLOAD_MB = 2
"""Trustee's own default, written out so that it is seen."""


def kbs_of(settings: section.KbsSettings, secrets: Mapping[str, Secret]) -> Kbs:
    """settings, secrets: judged. The same for the same, and no clock is read."""
    micro = settings.deployment_type == MICROSERVICES
    broker = _broker(settings)
    toml = KbsToml(
        broker=None if micro else broker,
        https=settings.tls is not None,
        insecure_api=settings.insecure.api,
        insecure_key=settings.insecure.key,
        trusted_certs=(f"{paths.TOKEN}/{paths.SIGNER_CA_FILE}",) if settings.token.signer else (),
        payload_mb=PAYLOAD_MB if payload_limit(settings.trustee_version) else None,
    )
    references = [
        Reference(name=one.name, values=one.values, expiration=one.expiration, algorithm=one.algorithm)
        for one in settings.reference_values
    ]
    certificates = settings.virtcca_certificates
    env = dict(settings.env)
    if certificates is not None:
        places = (f"{paths.VIRTCCA}/{paths.VIRTCCA_ROOT_FILE}", f"{paths.VIRTCCA}/{paths.VIRTCCA_SUB_FILE}")
        env |= dict(zip(VIRTCCA_ENV, places, strict=True))
    return Kbs(
        deployment_type=settings.deployment_type,
        kbs_toml=kbs_toml(toml),
        reference_values=reference_values(references, settings.trustee_version),
        resource_policy=_resource_policy(settings),
        attestation_policy=_attestation_policy(settings),
        admin_public_key=secrets[settings.admin_public_key].value,
        as_config=as_config(broker) if micro else None,
        rvps_config=rvps_config() if micro else None,
        tls=_pair(settings.tls, secrets),
        signer=_pair(settings.token.signer, secrets),
        virtcca=None if certificates is None else (certificates.root, certificates.sub),
        resources={
            name: {key: _value(one, secrets) for key, one in keys.items()} for name, keys in settings.resources.items()
        },
        service_type=settings.service_type,
        env=env,
        replicas=settings.replicas,
    )


def _broker(settings: section.KbsSettings) -> TokenBroker:
    if settings.attestation_policy.kind == "image":
        folder = None
    elif policy_file(settings.trustee_version, settings.token.broker) == OPERATOR_POLICY_FILE:
        folder = paths.OPERATOR_POLICIES
    else:
        folder = paths.OWN_POLICIES
    signer = Signer(
        key_path=f"{paths.TOKEN}/{paths.SIGNER_KEY_FILE}", cert_path=f"{paths.TOKEN}/{paths.SIGNER_CERTIFICATE_FILE}"
    )
    return TokenBroker(
        type=settings.token.broker,
        duration_min=settings.token.minutes,
        policy_dir=folder,
        signer=signer if settings.token.signer else None,
    )


def _attestation_policy(settings: section.KbsSettings) -> Policy | None:
    policy = settings.attestation_policy
    if policy.kind == "image":
        return None
    if policy.kind == "own":
        text = policy.text or ""
    else:
        text = attestation_policy(settings.token.broker, [one.name for one in settings.reference_values])
    return Policy(file=policy_file(settings.trustee_version, settings.token.broker), text=text)


def _resource_policy(settings: section.KbsSettings) -> str:
    policy = settings.resource_policy
    match policy.kind:
        case "affirming":
            return affirming(settings.token.broker)
        case "byTenant":
            return by_tenant(policy.tenants or {})
        case "denyAll":
            return DENY_ALL
        case "allowAll":
            return ALLOW_ALL
        case "own":
            return policy.text or ""


def _pair(names: section.Tls | section.Signer | None, secrets: Mapping[str, Secret]) -> KeyPair | None:
    if names is None:
        return None
    return KeyPair(
        key=secrets[names.key].value, certificate=secrets[names.certificate].value, ca=secrets[names.ca].value
    )


def _value(one: section.Resource, secrets: Mapping[str, Secret]) -> bytes:
    if one.text is not None:
        return one.text.encode()
    if one.image_policy is not None:
        return image_policy(one.image_policy.signed_by).encode()
    return resource_bytes(one, secrets)
