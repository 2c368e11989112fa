"""A host that the provider `command` reaches by ssh."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_command as command


@dataclass(frozen=True, kw_only=True)
class Host:
    """private_key: an SSH key in PEM, hidden. host_key: the host's own public key."""

    address: str
    private_key: pulumi.Input[str]
    host_key: str
    user: str = "root"
    port: int = 22

    @property
    def connection(self) -> command.remote.ConnectionArgs:
        """As the provider wants it."""
        return command.remote.ConnectionArgs(
            host=self.address,
            port=self.port,
            user=self.user,
            private_key=pulumi.Output.secret(self.private_key),
            host_key=self.host_key,
        )
