"""The whole of what a stack file may say under `ringfence:`."""

from __future__ import annotations

from pydantic import Field

from settings.cluster import Cluster
from settings.fence import Fence
from settings.ring import Ring
from settings.section import Section

PROJECT = "ringfence"


class Stack(Section):
    """One field for each key of the stack file that starts with `ringfence:`."""

    cluster: Cluster = Field(description="which cluster this is: context, identifier, version")
    ring: Ring | None = Field(
        default=None, description="the servers, and the namespaces that get their templates; without it, no NPUs"
    )
    fence: Fence | None = Field(
        default=None, description="confidential containers and their key broker; without it, none"
    )
