"""as-config.json and rvps-config.json, for the containers that a MicroservicesDeployment has besides the KBS."""

from __future__ import annotations

import json

from components.trustee import paths
from components.trustee.kbs_toml import RVPS_ADDRESS, TokenBroker, storage


def as_config(broker: TokenBroker) -> str:
    """The text of as-config.json: the attestation service, with the RVPS next door."""
    return _json(
        {
            "work_dir": paths.AS_WORK_DIR,
            "rvps_config": {"type": "GrpcRemote", "address": RVPS_ADDRESS},
            "attestation_token_broker": broker.plain(),
        }
    )


def rvps_config() -> str:
    """The text of rvps-config.json."""
    return _json({"storage": storage("LocalJson")})


def _json(data: object) -> str:
    return json.dumps(data, indent=2) + "\n"
