"""trustee-operator: which one, how it is installed on the trusted cluster, and which key broker it is to run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from settings.driver import Resources
from settings.operator import Amounts, OperatorSettings, OwnNamespace, fitting, merged, mirrored
from settings.section import Section
from settings.values import Image, Namespace

RESOURCES: Amounts = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}}
"""Those of the operator's own release."""

NAMESPACE = "trustee-operator-system"


def _fitting(value: Resources) -> Resources:
    return fitting(RESOURCES, value)


class TrusteeImages(Section):
    """All four, always: left out, two of them would be whatever upstream pushed last."""

    kbs: Image = Field(description="the key broker with its attestation service built in, for AllInOneDeployment")
    kbs_microservices: Image = Field(description="the key broker alone, for MicroservicesDeployment")
    attestation_service: Image = Field(alias="as", description="the attestation service, for MicroservicesDeployment")
    rvps: Image = Field(description="the reference value provider, for MicroservicesDeployment")


class TrusteeOperatorSettings(OperatorSettings):
    """Later versions have another CRD and other permissions, which are not known here."""

    images: TrusteeImages = Field(description="the images of the key broker: kbs, kbsMicroservices, as, rvps")
    version: Literal["0.5.0"] = Field(default="0.5.0", description="0.5.0 is the one whose objects are known")
    namespace: Annotated[Namespace, OwnNamespace] = Field(
        default=NAMESPACE, description="a namespace of the operator's own, and of the key broker; the stack creates it"
    )
    resources: Annotated[Resources, AfterValidator(_fitting)] = Field(
        default_factory=Resources,
        description="requests and limits that replace the operator's own, one by one; it keeps all Secrets and "
        "ConfigMaps of the cluster in memory, for which its own limit of 128Mi has been too small",
    )

    @property
    def chosen_image(self) -> str:
        """The operator's image."""
        upstream = f"quay.io/confidential-containers/trustee-operator:v{self.version}"
        return self.image or mirrored(upstream, self.registry_mirror)

    @property
    def chosen_resources(self) -> dict[str, dict[str, str]]:
        """Requests and limits, all of them."""
        return merged(RESOURCES, self.resources)
