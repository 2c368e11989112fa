"""What a pod adds to the command line of its guest's kernel: the configuration of the guest's agents (kata 3.15).

The command line is measured: with it the RIM changes, and the reference values of the key broker have to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SWIOTLB_STEP_MIB = 64
_SLOTS_PER_MIB = 512
"""A slot of the bounce buffer has 2 KiB."""

OWNED = frozenset(
    {
        "agent.aa_kbc_params",
        "agent.enable_signature_verification",
        "agent.guest_components_rest_api",
        "agent.https_proxy",
        "agent.image_policy_file",
        "agent.image_registry_auth",
        "agent.no_proxy",
        "swiotlb",
    }
)
"""Parameters that have a field of their own."""


@dataclass(frozen=True, kw_only=True)
class KernelParams:
    """kbs_url: http(s)://host:port. rest_api: all, attestation or resource. swiotlb_mib: multiples of 64.

    *_uri: kbs:///repository/type/tag. extra: further parameters, "" for one without a value. None, "" and () write
    nothing. ValueError for what no guest could read.
    """

    kbs_url: str | None = None
    rest_api: str | None = None
    signature_policy_uri: str | None = None
    registry_auth_uri: str | None = None
    https_proxy: str | None = None
    no_proxy: Sequence[str] = ()
    swiotlb_mib: int | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kbs_url is not None and not re.fullmatch(r"https?://[^\s:/]+:\d+", self.kbs_url):
            raise ValueError(f"kbs_url {self.kbs_url!r} is not http(s)://host:port")
        if self.swiotlb_mib is not None and (self.swiotlb_mib <= 0 or self.swiotlb_mib % SWIOTLB_STEP_MIB):
            raise ValueError(f"swiotlb_mib {self.swiotlb_mib} is no multiple of {SWIOTLB_STEP_MIB}")
        for name, value in self.extra.items():
            if name in OWNED:
                raise ValueError(f"extra {name} has a field of its own")
            if not name or re.search(r"[\s=]", name) or re.search(r"\s", value):
                raise ValueError(f"extra {name}={value} is not one word")

    def words(self) -> list[tuple[str, str]]:
        """(name, value) in the order in which they are written, which never depends on the order they were given in."""
        found = {
            "agent.aa_kbc_params": f"cc_kbc::{self.kbs_url}" if self.kbs_url else "",
            "agent.enable_signature_verification": "true" if self.signature_policy_uri else "",
            "agent.guest_components_rest_api": self.rest_api or "",
            "agent.https_proxy": self.https_proxy or "",
            "agent.image_policy_file": self.signature_policy_uri or "",
            "agent.image_registry_auth": self.registry_auth_uri or "",
            "agent.no_proxy": ",".join(self.no_proxy),
            "swiotlb": f"{self.swiotlb_mib * _SLOTS_PER_MIB},force" if self.swiotlb_mib else "",
        }
        written = [(name, value) for name, value in found.items() if value]
        return written + sorted(self.extra.items())

    def line(self) -> str:
        """As in the annotation."""
        return " ".join(f"{name}={value}" if value else name for name, value in self.words())


def debugging(words: Sequence[tuple[str, str]]) -> list[str]:
    """Those by which a guest gives away what it is to keep from its host."""
    return [
        f"{name}={value}" if value else name
        for name, value in words
        if name.startswith("agent.debug_console") or (name == "agent.log" and value in {"debug", "trace"})
    ]
