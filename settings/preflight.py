"""`ringfence:fence.preflight`: hosts that are looked at; `pulumi up` fails where one is not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from settings.secrets import SecretName
from settings.section import Section, refused
from settings.values import Image, Namespace, NodeName, Text

_KEY = re.compile(r"(ssh|ecdsa|sk)-[-a-z0-9@.]+ [A-Za-z0-9+/]+=*( .*)?")


def _address(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?", value):
        raise refused(
            f"{value!r} is no host name and no address.", "Write it alone: user and port have keys of their own."
        )
    return value


def _called(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][-A-Za-z0-9_.]*", value):
        raise refused(f"{value!r} cannot be what a host is called here.", "Use letters, digits, -, _ and dots.")
    return value


def _host_key(value: str) -> str:
    if not _KEY.fullmatch(value.strip()):
        raise refused(
            "is no public key of a host.",
            'Write it as in /etc/ssh/ssh_host_ed25519_key.pub, "ssh-ed25519 AAAA…"; of what ssh-keyscan prints, '
            "without the host in front.",
        )
    return value


class SshHost(Section):
    """How a host is reached. Its own key is asked for: without it anyone could answer in its place."""

    address: Annotated[str, AfterValidator(_address)] = Field(description="its name or IP address")
    private_key: SecretName = Field(description="name of the secret with the SSH key that opens it")
    host_key: Annotated[str, AfterValidator(_host_key)] = Field(
        description='its public key, "ssh-ed25519 AAAA…", which ssh-keyscan prints after the host'
    )
    user: Text = Field(default="root", description="who to log in as; some facts only root can read")
    port: int = Field(default=22, ge=1, le=65535, description="of its SSH server")


class PreflightJob(Section):
    """One Job for each node."""

    image: Image = Field(description="an image with a POSIX sh, awk, grep and sed, which the nodes can pull")
    nodes: tuple[NodeName, ...] = Field(description="names of the nodes to look at")
    namespace: Namespace = Field(default="kube-system", description="it has to admit hostPath volumes")
    timeout: int = Field(default=300, ge=10, description="seconds until a Job is given up")

    @model_validator(mode="after")
    def _named(self) -> PreflightJob:
        if not self.nodes:
            raise refused("nodes is empty, so nothing would be looked at.", "Name the nodes, or remove job.")
        for index, node in enumerate(self.nodes):
            if node in self.nodes[:index]:
                raise refused(f"nodes has {node} twice.", "Remove one.")
        return self


def _even(value: int) -> int:
    if value % 2:
        raise refused(f"{value} is odd, and secure memory is given out in steps of 2 MiB.", "Write an even number.")
    return value


class Preflight(Section):
    """What is asked once is not asked again until something of it changes."""

    hosts: dict[Annotated[str, AfterValidator(_called)], SshHost] = Field(
        default_factory=dict, description="hosts to look at by ssh: a name → how"
    )
    job: PreflightJob | None = Field(default=None, description="nodes of the workload cluster to look at by Jobs")
    passthrough: bool = Field(default=False, description="whether devices are to be handed to guests")
    secure_memory_mib: Annotated[int, AfterValidator(_even)] = Field(
        default=1024, ge=1024, description="MiB of secure memory that the largest guest needs"
    )
    installed: bool = Field(
        default=False, description="whether the runtime on the hosts is this stack's own; true once it is installed"
    )
    again: Text | None = Field(default=None, description="any text; another one asks all hosts again")

    @model_validator(mode="after")
    def _something(self) -> Preflight:
        if not self.hosts and self.job is None:
            raise refused("nothing is looked at.", "Write hosts or job, or remove the section.")
        both = [node for node in (self.job.nodes if self.job is not None else ()) if node in self.hosts]
        if both:
            raise refused(f"{both[0]} is among hosts and among the nodes of job.", "Look at it in one way: remove one.")
        return self

    def secret_names(self) -> Iterator[str]:
        """Of the secrets that it names."""
        for host in self.hosts.values():
            yield host.private_key
