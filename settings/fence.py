"""`ringfence:fence`: confidential containers on the workload cluster, and the key broker on one that is trusted."""

from __future__ import annotations

from pydantic import Field

from settings.artifacts import Artifacts
from settings.cc_operator import CcOperatorSettings
from settings.cc_runtime import CcRuntimeSettings
from settings.cluster import Cluster
from settings.confidential_workload import WorkloadSettings
from settings.kbs import KbsSettings
from settings.preflight import Preflight
from settings.section import Section
from settings.trustee_operator import TrusteeOperatorSettings


class Fence(Section):
    """Either half may be there alone: the runtime on `ringfence:cluster`, the key broker on the trusted cluster."""

    production: bool = Field(
        default=True, description="whether what is insecure is refused; false is for trying things out"
    )
    trusted_cluster: Cluster | None = Field(
        default=None, description="the cluster of the key broker; without it, that of the workloads"
    )
    artifacts: Artifacts | None = Field(default=None, description="what the stack builds itself; without it, nothing")
    preflight: Preflight | None = Field(
        default=None, description="hosts that are looked at before the runtime is installed on them"
    )
    cc_operator: CcOperatorSettings | None = Field(
        default=None, description="how cc-operator is installed; without it, as upstream does"
    )
    cc_runtime: CcRuntimeSettings | None = Field(
        default=None, description="the nodes that run confidential containers, and with what"
    )
    trustee_operator: TrusteeOperatorSettings | None = Field(
        default=None, description="how trustee-operator is installed, and the images of the key broker"
    )
    kbs: KbsSettings | None = Field(default=None, description="the key broker service")
    workloads: tuple[WorkloadSettings, ...] = Field(default=(), description="confidential workloads of tenants")

    @property
    def installed_cc_operator(self) -> CcOperatorSettings | None:
        """The operator that the stack installs. It may outlive its CcRuntime, which needs it in order to go."""
        if self.cc_operator is None and self.cc_runtime is not None:
            return CcOperatorSettings()
        return self.cc_operator

    @property
    def secret_names(self) -> tuple[str, ...]:
        """Of every secret that it names, in order."""
        named = [*(self.kbs.secret_names if self.kbs is not None else ())]
        for section in (self.preflight, self.artifacts):
            named += section.secret_names() if section is not None else ()
        return tuple(dict.fromkeys(named))
