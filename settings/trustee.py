"""What a version of Trustee reads: names of policy files and the form of reference values. Its operator knows neither.

Read in the source of trustee v0.12.0 to v0.15.0 (attestation-service/src/token, rvps/src, kbs/src/config.rs) and of
trustee-operator v0.5.0 (internal/controller).
"""

from __future__ import annotations

from typing import Literal, get_args

Version = Literal["0.12", "0.13", "0.14", "0.15"]
VERSIONS: tuple[str, ...] = get_args(Version)

Broker = Literal["Ear", "Simple"]
"""How the attestation service words its verdict: a trust vector with a status, or a plain yes."""

DeploymentType = Literal["AllInOneDeployment", "MicroservicesDeployment"]
ALL_IN_ONE: DeploymentType = "AllInOneDeployment"
MICROSERVICES: DeploymentType = "MicroservicesDeployment"

OPERATOR_POLICY_FILE = "default_cpu.rego"
"""The one name under which trustee-operator v0.5.0 mounts an attestation policy, whatever Trustee reads."""

RESERVED_VOLUMES = frozenset(
    {
        "confidential-containers",
        "default",
        "kbs-config",
        "attestation-policy",
        "opa",
        "tdx-config",
        "auth-secret",
        "https-key",
        "https-cert",
        "reference-values",
        "as-config",
        "rvps-config",
    }
)
"""Volumes the operator makes itself. It names the volume of a Secret after the Secret, so no Secret may bear these."""


def policy_file(version: Version, broker: Broker) -> str:
    """The file in which the attestation service looks for the policy that every guest is judged by."""
    return OPERATOR_POLICY_FILE if broker == "Ear" and not _before(version, "0.14") else "default.rego"


def plain_reference_values(version: Version) -> bool:
    """Whether a reference value holds any JSON in `value`; before, it holds digests in `hash-value`."""
    return not _before(version, "0.14")


def payload_limit(version: Version) -> bool:
    """Whether the KBS knows `http_server.payload_request_size`. It ignores what it does not know."""
    return not _before(version, "0.13")


def _before(version: Version, other: Version) -> bool:
    return VERSIONS.index(version) < VERSIONS.index(other)
