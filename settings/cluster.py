"""`ringfence:cluster`: which cluster the stack belongs to, and what that cluster can do."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from settings.capabilities import Capabilities, Version
from settings.section import Section, refused
from settings.values import Text


def _quoted(value: Any) -> Any:
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise refused(f"{value} is a number, and YAML takes 1.40 and 1.4 for the same.", f'Write "{value}" in quotes.')
    return value


class Cluster(Section):
    """The cluster is always named: what the kubeconfig's current context happens to be has no say."""

    context: Text = Field(description="the kubeconfig context of the cluster that this stack belongs to")
    identifier: Text = Field(
        description="a name for the cluster that never changes; while it stays, a new kubeconfig or context name does "
        "not make pulumi replace everything"
    )
    version: Annotated[Version, BeforeValidator(_quoted)] = Field(description='the cluster\'s version, such as "1.37"')
    kubeconfig: Text | None = Field(default=None, description="path of a kubeconfig; without it, KUBECONFIG")
    feature_gates: dict[str, bool] = Field(
        default_factory=dict, description="DRA feature gates that the cluster sets by hand: name → true or false"
    )
    protect_namespaces: bool = Field(
        default=True, description="whether pulumi refuses to delete the namespaces it made, with all that is in them"
    )

    @property
    def capabilities(self) -> Capabilities:
        """What the cluster keeps of what it is sent."""
        return Capabilities(self.version, self.feature_gates)
