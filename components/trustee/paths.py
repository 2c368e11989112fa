"""Where trustee-operator v0.5.0 mounts things in the KBS pod, and where we ask it to mount ours."""

from __future__ import annotations

ROOT = "/opt/confidential-containers"
AS_WORK_DIR = f"{ROOT}/attestation-service"
# Trustee's own default is a folder for each broker (token/ear/policies, token/simple/policies), in which the operator
# mounts nothing. OPA's files are in opa/ below.
OPERATOR_POLICIES = f"{AS_WORK_DIR}/policies"
RESOURCE_POLICY = f"{ROOT}/opa/policy.rego"
REPOSITORY = f"{ROOT}/kbs/repository"
REFERENCE_VALUES = f"{ROOT}/rvps/reference-values/reference-values.json"

AUTH_KEY_FILE = "publicKey"
AUTH_KEY = f"/etc/auth-secret/{AUTH_KEY_FILE}"
TLS_KEY_FILE = "https.key"
TLS_KEY = f"/etc/https-key/{TLS_KEY_FILE}"
TLS_CERTIFICATE_FILE = "https.crt"
TLS_CERTIFICATE = f"/etc/https-cert/{TLS_CERTIFICATE_FILE}"

# Below: mounted by kbsLocalCertCacheSpec, so in the kbs container only.
OWN_POLICIES = "/etc/kbs/attestation-policies"
TOKEN = "/etc/kbs/certs/token"  # noqa: S105 - a path
SIGNER_KEY_FILE, SIGNER_CERTIFICATE_FILE, SIGNER_CA_FILE = "signer.key", "signer.crt", "ca.crt"
VIRTCCA = "/etc/kbs/certs/virtcca"
VIRTCCA_ROOT_FILE, VIRTCCA_SUB_FILE = "root.pem", "sub.pem"
