"""cc-operator: which one, and how it is installed on the workload cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from settings.driver import Resources
from settings.operator import Amounts, OperatorSettings, OwnNamespace, fitting, merged, mirrored
from settings.values import Namespace

RESOURCES: Amounts = {"requests": {"cpu": "100m", "memory": "20Mi"}, "limits": {"cpu": "200m", "memory": "100Mi"}}
"""Those of the operator's own release."""

NAMESPACE = "confidential-containers-system"


def _fitting(value: Resources) -> Resources:
    return fitting(RESOURCES, value)


class CcOperatorSettings(OperatorSettings):
    """The versions are all there will be: upstream archived the operator after 0.17.0, in favour of a Helm chart."""

    version: Literal["0.13.0", "0.14.0", "0.15.0", "0.16.0", "0.17.0"] = Field(
        default="0.13.0", description="0.13.0 comes with Kata 3.15.0; the others differ in that alone"
    )
    namespace: Annotated[Namespace, OwnNamespace] = Field(
        default=NAMESPACE, description="a namespace of the operator's own; the stack creates it"
    )
    resources: Annotated[Resources, AfterValidator(_fitting)] = Field(
        default_factory=Resources, description="requests and limits that replace the operator's own, one by one"
    )

    @property
    def chosen_image(self) -> str:
        """The image that is to run."""
        upstream = f"quay.io/confidential-containers/operator:v{self.version}"
        return self.image or mirrored(upstream, self.registry_mirror)

    @property
    def chosen_resources(self) -> dict[str, dict[str, str]]:
        """Requests and limits, all of them."""
        return merged(RESOURCES, self.resources)
