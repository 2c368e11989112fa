"""What a stack file declares of the key broker, for someone who has none of its secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.kbs_from_settings import kbs_of
from components.kbs_inputs import Kbs
from settings.kbs import KbsSettings
from settings.secrets import Secret

WITHOUT_SECRETS = frozenset({"auth", "tls-certificate", "tls-key", "token-signer"})
"""Roles of inputs whose content, and so the end of their names, comes from secrets."""

# 32 bytes in base64: in the form of each secret that a section may name.
_PLACEHOLDER = "A" * 43 + "="


def kbs_without_secrets(kbs: KbsSettings) -> Kbs:
    """What kbs_of gives, with a placeholder for each secret; all else is what is deployed, names included."""
    return kbs_of(kbs, _Placeholders(kbs.secret_names))


class _Placeholders(Mapping[str, Secret]):
    def __init__(self, names: list[str]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Secret:
        return Secret(name, _PLACEHOLDER)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
