"""What no single key of the KBS can be blamed for: keys that do not go together, and what is known not to work.

What is said of the operator was read in trustee-operator v0.5.0, of Trustee in v0.12.0 to v0.15.0.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from settings.errors import Problem
from settings.explain import dotted
from settings.kbs import RIM, KbsSettings
from settings.kbs_secrets import SERVICE
from settings.trustee import ALL_IN_ONE, MICROSERVICES, OPERATOR_POLICY_FILE, policy_file

AT = ("fence", "kbs")
"""Where the section is in the stack file."""

EXPIRES_SOON = timedelta(days=14)
"""A reference value that has less left is refused: once it has expired no guest gets anything, and nothing says why."""

VIRTCCA_ENV = ("VIRTCCA_ROOT_CERT", "VIRTCCA_SUB_CERT")

_IN_REGO = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`|#[^\n]*')
"""Texts and comments, in which brackets mean nothing."""
_PACKAGE = re.compile(r"\s*package\s+policy\s*$", re.MULTILINE)
_ALLOWS_ALL = re.compile(r"^\s*default\s+allow\s*:?=\s*true\b", re.MULTILINE)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_HEX_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}


def judge_kbs(
    kbs: KbsSettings, *, production: bool, one_cluster: bool, today: datetime, at: Sequence[str] = AT
) -> list[Problem]:
    """Every problem of a section whose keys are right one by one.

    production: whether what is insecure is refused. one_cluster: whether guests run on the KBS's own cluster.
    today: with a time zone; what expires is measured by it.
    """
    return [
        Problem(dotted([*at, *key]), reason, remedy)
        for key, reason, remedy in [
            *_insecure(kbs, production),
            *_signing(kbs),
            *_policies(kbs, production),
            *_references(kbs, today),
            *_certificates(kbs, today),
            *_resources(kbs),
            *_address(kbs, one_cluster),
        ]
    ]


def warnings_of(kbs: KbsSettings) -> list[str]:
    """What works, and may still surprise."""
    found = []
    env = len(kbs.env) + (len(VIRTCCA_ENV) if kbs.virtcca_certificates else 0)
    if env > 1:
        found.append(
            f"the KBS gets {env} environment variables, and the operator before v0.21 orders two or more anew each "
            "time it looks, so the KBS may be rolled out again and again; bake all but one into the image to end that."
        )
    if kbs.replicas > 1:
        found.append("sessions are in the memory of one KBS pod, so several need a load balancer with sticky sessions.")
    if kbs.deployment_type == MICROSERVICES:
        found.append("upstream calls MicroservicesDeployment unmaintained.")
    if kbs.attestation_policy.kind == "image" and kbs.trustee_version != "0.15":
        found.append(
            f"Trustee {kbs.trustee_version} lets whoever reaches the KBS replace an attestation policy that is not "
            "mounted read-only."
        )
    if kbs.service_type == "NodePort":
        found.append("the cluster chooses the node port, and chooses anew when the KbsConfig is replaced.")
    return found


_Found = tuple[tuple[str | int, ...], str, str]


def _insecure(kbs: KbsSettings, production: bool) -> list[_Found]:
    found: list[_Found] = []
    opens = {
        "http": "sends keys over the network in clear",
        "api": "lets whoever reaches the KBS set resources and policies",
        "key": "believes an attestation token whoever signed it",
    }
    if production:
        found += [
            (("insecure", name), f"{opens[name]}, which production does not allow.", "Remove it.")
            for name in kbs.insecure.chosen
        ]
    if kbs.tls is None and not kbs.insecure.http:
        remedy = "Run `ringfence fence keys` and add tls: {}."
        found.append((("tls",), "is missing, so keys would go over the network in clear.", remedy))
    if kbs.tls is not None and kbs.insecure.http:
        found.append((("insecure", "http"), "contradicts tls.", "Remove one."))
    return found


def _signing(kbs: KbsSettings) -> list[_Found]:
    if kbs.insecure.key:
        if kbs.token.signer is not None:
            return [(("insecure", "key"), "contradicts token.signer, which it would leave unchecked.", "Remove one.")]
        return []
    if kbs.deployment_type == MICROSERVICES:
        reason = (
            "the operator can bring no signing key into the container of the attestation service, so the KBS could not "
            "tell its tokens from forged ones."
        )
        remedy = f"Write {ALL_IN_ONE}, or, outside production, insecure.key: true."
        return [(("deploymentType",), reason, remedy)]
    if kbs.token.signer is None:
        reason = "has no signer, and the KBS accepts no token from one it does not know."
        return [(("token",), reason, "Run `ringfence fence keys` and add signer: {}.")]
    return []


def _policies(kbs: KbsSettings, production: bool) -> list[_Found]:
    found: list[_Found] = []
    policy, resource = kbs.attestation_policy, kbs.resource_policy
    file = policy_file(kbs.trustee_version, kbs.token.broker)
    if policy.kind != "image" and kbs.deployment_type == MICROSERVICES and file != OPERATOR_POLICY_FILE:
        reason = (
            f"the operator mounts it as {OPERATOR_POLICY_FILE}, but the attestation service of Trustee "
            f"{kbs.trustee_version} with {kbs.token.broker} reads {file}, so it would be ignored without a word."
        )
        remedy = f"Write deploymentType: {ALL_IN_ONE}, where it is mounted by another way, or kind: image."
        found.append((("attestationPolicy",), reason, remedy))
    if policy.kind == "image" and kbs.deployment_type == ALL_IN_ONE:
        reason = "the operator mounts an empty folder over the place where the image would have it."
        found.append((("attestationPolicy", "kind"), reason, "Write virtcca or own."))
    if resource.kind == "allowAll" and production:
        reason = "gives every resource to every guest, whatever it runs."
        found.append((("resourcePolicy", "kind"), reason, "Write affirming or byTenant."))
    for at, text in (("resourcePolicy", resource.text), ("attestationPolicy", policy.text)):
        wrong = _no_rego(text) if text is not None else None
        if wrong is not None:
            reason = f"{wrong}, so the KBS could not read it and would give nothing to anyone."
            found.append(
                ((at, "text"), reason, "Write the rego itself, package policy first, as `opa check` takes it.")
            )
        if production and text is not None and _ALLOWS_ALL.search(text):
            reason = "says yes where nothing else is said, which production does not allow."
            found.append(((at, "text"), reason, "Write default allow := false, and rules for what is allowed."))
    if resource.kind == "byTenant" and kbs.token.broker == "Simple":
        reason = "compares claims, which a Simple token carries as one string."
        found.append((("resourcePolicy", "kind"), reason, "Write token.broker: Ear, or kind: affirming."))
    for name in resource.tenants or {}:
        if name not in kbs.resources:
            key = ("resourcePolicy", "tenants", name)
            found.append((key, f"there is no {name} in resources.", "Add it there, or remove it here."))
    return found


def _no_rego(text: str) -> str | None:
    """What shows at once that a text is no policy. That it is one, only a parser of rego could tell."""
    code = _IN_REGO.sub(lambda found: "" if found[0].startswith("#") else '""', text)
    if not _PACKAGE.match(code):
        return "does not begin with package policy"
    opened: list[str] = []
    for sign in re.findall(r"[][(){}]", code):
        if sign in _BRACKETS:
            opened.append(_BRACKETS[sign])
        elif not opened or opened.pop() != sign:
            return f"has a {sign} that closes nothing"
    return f"lacks a {opened[-1]}" if opened else None


def _references(kbs: KbsSettings, today: datetime) -> list[_Found]:
    found: list[_Found] = []
    seen: set[str] = set()
    for index, one in enumerate(kbs.reference_values):
        at = ("referenceValues", index)
        if one.name in seen:
            found.append(((*at, "name"), f"{one.name} is there twice, and only one would count.", "Write one entry."))
        seen.add(one.name)
        for number, value in enumerate(one.values):
            if len(value) != _HEX_DIGITS[one.algorithm]:
                reason = f"has {len(value)} digits, and {one.algorithm} has {_HEX_DIGITS[one.algorithm]}."
                found.append(((*at, "values", number), reason, "Correct it, or algorithm."))
        found += _expiry((*at, "expiration"), one.expiration, today)
    if kbs.attestation_policy.kind == "virtcca" and RIM not in seen:
        reason = f"has no {RIM}, so nothing would say what a guest may run."
        found.append((("referenceValues",), reason, "Add it; gen_rim_ref of virtCCA_sdk computes it."))
    return found


def _expiry(key: tuple[str | int, ...], text: str, today: datetime) -> list[_Found]:
    try:
        until = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return [(key, f"there is no such moment as {text}.", "Write one that is in the calendar.")]
    if until - today > EXPIRES_SOON:
        return []
    what = "has expired" if until <= today else f"expires within {EXPIRES_SOON.days} days"
    reason = f"{what}, and the RVPS then drops it without a word: no guest gets anything."
    return [(key, reason, "Check that the value still holds, and write a later day.")]


def _certificates(kbs: KbsSettings, today: datetime) -> list[_Found]:
    given = kbs.virtcca_certificates
    if given is None:
        return []
    at = "virtccaCertificates"
    found: list[_Found] = []
    if kbs.deployment_type == MICROSERVICES:
        reason = (
            "the operator mounts them for the KBS only, and it is the attestation service, elsewhere, that reads them."
        )
        found.append(((at,), reason, f"Write deploymentType: {ALL_IN_ONE}, or bake them into the AS image."))
    for name in VIRTCCA_ENV:
        if name in kbs.env:
            found.append((("env", name), f"is set by {at} already.", "Remove it."))
    parsed: dict[str, x509.Certificate] = {}
    for field, text in (("root", given.root), ("sub", given.sub)):
        try:
            parsed[field] = x509.load_pem_x509_certificate(text.encode())
        except ValueError:
            remedy = "Write it as PEM, from -----BEGIN CERTIFICATE----- on."
            found.append(((at, field), "is no certificate.", remedy))
            continue
        if parsed[field].not_valid_after_utc <= today:
            found.append(((at, field), "has expired.", "Get the current one from Huawei."))
        kind = {"rsa": rsa.RSAPublicKey, "ecc": ec.EllipticCurvePublicKey}[given.family]
        if not isinstance(parsed[field].public_key(), kind):
            found.append(((at, field), f"is not of the {given.family} family.", "Correct it, or family."))
    if len(parsed) == len(("root", "sub")) and not _issued(parsed["sub"], parsed["root"]):
        found.append(((at, "sub"), "was not issued by root.", "Write two of one family."))
    return found


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # the library raises several kinds for what does not fit
        return False
    return True


def _resources(kbs: KbsSettings) -> list[_Found]:
    found: list[_Found] = []
    for name, keys in kbs.resources.items():
        if not keys:
            found.append((("resources", name), "has no key, so it would hold nothing.", "Add one, or remove it."))
        for key, one in keys.items():
            for scope, uri in (one.image_policy.signed_by if one.image_policy else {}).items():
                secret, held = uri.removeprefix("kbs:///default/").split("/")
                signer = kbs.resources.get(secret, {}).get(held)
                if signer is None:
                    at = ("resources", name, key, "imagePolicy", "signedBy", scope)
                    reason = f"there is no {secret} with {held} in resources."
                    found.append((at, reason, "Add the cosign public key there."))
                elif signer.secret is None and "-----BEGIN PUBLIC KEY-----" not in (signer.text or ""):
                    reason = "is no public key in PEM, and signatures are to be checked with it."
                    found.append((("resources", secret, held), reason, "Write what is in cosign.pub."))
    return found


def _address(kbs: KbsSettings, one_cluster: bool) -> list[_Found]:
    host = kbs.address.host
    if host == "localhost" or _is_guest(host):
        return [(("address", "host"), f"{host} is the guest itself.", "Write where the guest reaches the KBS.")]
    if one_cluster:
        return []
    found: list[_Found] = []
    if kbs.service_type == "ClusterIP":
        reason = "is reached from inside its own cluster only, and the guests run on another."
        found.append((("serviceType",), f"ClusterIP {reason}", "Write LoadBalancer or NodePort."))
    if within_cluster(host):
        reason = f"{host} has a meaning inside one cluster only, and the guests run on another."
        found.append((("address", "host"), reason, "Write a name that both know, or an address."))
    return found


def within_cluster(host: str) -> bool:
    """Whether it is a name that only pods of one cluster can look up."""
    service = host.startswith(f"{SERVICE}.") and host.count(".") == 1
    return service or host.endswith((".svc", ".cluster.local")) or "." not in host


def _is_guest(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified
