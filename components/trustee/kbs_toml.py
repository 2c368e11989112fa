"""kbs-config.toml. The KBS ignores keys that it does not know, so a typo would be silent: here each key is a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import tomli_w

from components.trustee import paths
from settings.trustee import Broker

SOCKET = "0.0.0.0:8080"
AS_ADDRESS = "http://127.0.0.1:50004"
RVPS_ADDRESS = "http://127.0.0.1:50003"


@dataclass(frozen=True, kw_only=True)
class Signer:
    """What signs attestation tokens, so that the KBS can tell them from forged ones. Paths in the container."""

    key_path: str
    cert_path: str


@dataclass(frozen=True, kw_only=True)
class TokenBroker:
    """policy_dir: the folder above opa/; None leaves it to Trustee. duration_min: minutes a token is good for."""

    type: Broker
    duration_min: int = 5
    policy_dir: str | None = None
    signer: Signer | None = None

    def plain(self) -> dict[str, Any]:
        signer = None if self.signer is None else {"key_path": self.signer.key_path, "cert_path": self.signer.cert_path}
        return _given(type=self.type, duration_min=self.duration_min, policy_dir=self.policy_dir, signer=signer)


@dataclass(frozen=True, kw_only=True)
class KbsToml:
    """broker: of the attestation service inside the KBS; None where it is a container of its own, asked over gRPC.

    https: with the key and certificate that the operator mounts; otherwise http, for everyone to read.
    insecure_api: anyone may set resources and policies. insecure_key: whoever makes a token is believed.
    trusted_certs: of the authorities whose tokens are believed. payload_mb: None where Trustee knows no limit.
    """

    broker: TokenBroker | None
    https: bool
    insecure_api: bool = False
    insecure_key: bool = False
    trusted_certs: tuple[str, ...] = ()
    timeout_min: int = 5
    payload_mb: int | None = None


def kbs_toml(config: KbsToml) -> str:
    """The text of kbs-config.toml."""
    return tomli_w.dumps(
        {
            "http_server": _given(
                sockets=[SOCKET],
                insecure_http=not config.https,
                private_key=paths.TLS_KEY if config.https else None,
                certificate=paths.TLS_CERTIFICATE if config.https else None,
                payload_request_size=config.payload_mb,
            ),
            "admin": _given(
                insecure_api=config.insecure_api, auth_public_key=None if config.insecure_api else paths.AUTH_KEY
            ),
            "attestation_token": _given(
                insecure_key=config.insecure_key, trusted_certs_paths=list(config.trusted_certs) or None
            ),
            "attestation_service": _attestation_service(config),
            "policy_engine": {"policy_path": paths.RESOURCE_POLICY},
            "plugins": [{"name": "resource", "type": "LocalFs", "dir_path": paths.REPOSITORY}],
        }
    )


def _attestation_service(config: KbsToml) -> dict[str, Any]:
    if config.broker is None:
        return {"type": "coco_as_grpc", "timeout": config.timeout_min, "as_addr": AS_ADDRESS, "pool_size": 100}
    return {
        "type": "coco_as_builtin",
        "timeout": config.timeout_min,
        "work_dir": paths.AS_WORK_DIR,
        "attestation_token_broker": config.broker.plain(),
        "rvps_config": {"type": "BuiltIn", "storage": storage("LocalJson")},
    }


def storage(kind: Literal["LocalJson"]) -> dict[str, str]:
    """Where reference values are: in the one file that the operator mounts."""
    return {"type": kind, "file_path": paths.REFERENCE_VALUES}


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
