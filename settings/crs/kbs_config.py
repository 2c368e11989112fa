"""KbsConfig of trustee-operator, v1alpha1: what its CRD takes at 0.5.0.

By the schema every field may be left out. That the code fails without some of them is for components to see to.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from settings.crs.fields import Dead, Fields, Format

# In upstream's types; two of them begin with a capital K, unlike all the others.
_NAMES = {
    "ibm_se_config_spec": "ibmSEConfigSpec",
    "kbs_deployment_spec": "KbsDeploymentSpec",
    "kbs_env_vars": "KbsEnvVars",
}


def _on_the_wire(name: str) -> str:
    return _NAMES.get(name) or to_camel(name)


class TdxConfig(Fields):
    """For hosts with Intel TDX."""

    kbs_tdx_config_map_name: str | None = Field(
        default=None, description="ConfigMap with the key sgx_default_qcnl.conf"
    )


class IbmSeConfig(Fields):
    """For hosts with IBM Secure Execution."""

    cert_store_pvc: str | None = Field(default=None, description="PersistentVolumeClaim with certificates and keys")


class LocalCert(Fields):
    """A Secret that is mounted into the container kbs, and into no other."""

    secret_name: str = Field(description="the Secret")
    mount_path: str | None = Field(default=None, description="where; /etc/kbs/certs without it")


class LocalCertCache(Fields):
    """Certificates and other files for the container kbs."""

    secrets: tuple[LocalCert, ...] | None = Field(default=None, description="each Secret, with its place")


class KbsDeployment(Fields):
    """The Deployment of the key broker."""

    replicas: Annotated[int | None, Format("int32")] = Field(
        default=None, description="how many pods; 1 without it, and read only when the Deployment is created"
    )


class KbsConfigSpec(Fields):
    """Which ConfigMaps and Secrets, all of the operator's own namespace, make up the key broker."""

    # Not by aliases at the fields, which a type checker would take for the only names in Python.
    model_config = ConfigDict(alias_generator=_on_the_wire)

    kbs_config_map_name: str | None = Field(default=None, description="ConfigMap with the key kbs-config.toml")
    kbs_auth_secret_name: str | None = Field(default=None, description="Secret with the administrator's public key")
    kbs_rvps_ref_values_config_map_name: str | None = Field(
        default=None, description="ConfigMap with the key reference-values.json"
    )
    kbs_deployment_type: Literal["AllInOneDeployment", "MicroservicesDeployment"] | None = Field(
        default=None, description="one container, or three in one pod; without it, versions differ in what they do"
    )
    kbs_as_config_map_name: str | None = Field(
        default=None, description="ConfigMap with the key as-config.json, for MicroservicesDeployment"
    )
    kbs_rvps_config_map_name: str | None = Field(
        default=None, description="ConfigMap with the key rvps-config.json, for MicroservicesDeployment"
    )
    kbs_service_type: str | None = Field(default=None, description="type of kbs-service; ClusterIP without it")
    kbs_https_key_secret_name: str | None = Field(
        default=None, description="Secret with the TLS key; only together with the certificate"
    )
    kbs_https_cert_secret_name: str | None = Field(
        default=None, description="Secret with the TLS certificate; only together with the key"
    )
    kbs_secret_resources: tuple[str, ...] | None = Field(
        default=None, description="Secrets for tenants, each served as kbs:///default/<secret>/<key>"
    )
    kbs_attestation_policy_config_map_name: str | None = Field(
        default=None, description="ConfigMap with the attestation policy"
    )
    kbs_resource_policy_config_map_name: str | None = Field(
        default=None, description="ConfigMap with the key policy.rego"
    )
    tdx_config_spec: TdxConfig | None = Field(default=None, description="for Intel TDX")
    ibm_se_config_spec: IbmSeConfig | None = Field(default=None, description="for IBM Secure Execution")
    kbs_env_vars: dict[str, str] | None = Field(default=None, description="environment of all its containers")
    kbs_local_cert_cache_spec: LocalCertCache | None = Field(
        default=None, description="further files for the container kbs"
    )
    kbs_deployment_spec: KbsDeployment | None = Field(default=None, description="the Deployment of the key broker")


class KbsConfigStatus(Fields):
    """What the operator found."""

    is_ready: Annotated[bool | None, Dead("at 0.5.0 the operator never writes it; watch trustee-deployment.")] = Field(
        default=None, description="whether the key broker is ready"
    )


class KbsConfig(Fields):
    """A key broker. What the operator makes of it has fixed names, in its own namespace: there can be one."""

    spec: KbsConfigSpec | None = Field(default=None, description="what makes up the key broker")
    status: KbsConfigStatus | None = Field(default=None, description="what the operator found")
