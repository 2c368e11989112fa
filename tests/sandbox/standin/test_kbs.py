"""The stand-in for trustee-operator does what the real one is known to do."""

from __future__ import annotations

import base64
import datetime
import ssl
import urllib.error
import urllib.request
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.standin import kbs_deployment, kbs_operator, kube
from sandbox.standin.behaviour import KbsBehaviour
from sandbox.standin.kbs_reconcile import FINALIZER
from tests.sandbox.standin import objects
from tests.sandbox.standin.conftest import Cluster, until

pytestmark = pytest.mark.real

SPACE = kbs_operator.NAMESPACE
TOML = """
[http_server]
sockets = ["0.0.0.0:8080"]
private_key = "/etc/https-key/https.key"
certificate = "/etc/https-cert/https.crt"
"""


def config_map(cluster: Cluster, name: str, data: dict[str, str]) -> None:
    cluster.api.create(kube.config_maps(SPACE), {"metadata": {"name": name}, "data": data})


def secret(cluster: Cluster, name: str, data: dict[str, bytes]) -> None:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    cluster.api.create(kube.secrets(SPACE), {"metadata": {"name": name}, "data": encoded})


def inputs(cluster: Cluster, *, without: str = "") -> None:
    for name, data in (("kbs-config", {"kbs-config.toml": TOML}), ("values", {"reference-values.json": "[]"})):
        config_map(cluster, name, data)
    for name in {"auth", "tenant"} - {without}:
        secret(cluster, name, {"key": b"bytes"})


def available(cluster: Cluster) -> bool:
    conditions = (cluster.trustee() or {}).get("status", {}).get("conditions", [])
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)


def pod_spec(cluster: Cluster) -> dict[str, Any]:
    found = cluster.trustee()
    return {} if found is None else dict(found["spec"]["template"]["spec"])


def generation(cluster: Cluster) -> int:
    return int((cluster.trustee() or {})["metadata"]["generation"])


def cr(cluster: Cluster) -> kube.Object | None:
    return cluster.api.get(objects.KBS_CONFIGS, "kbs")


def bring_up(cluster: Cluster, **spec: Any) -> None:
    inputs(cluster)
    cluster.api.create(objects.KBS_CONFIGS, objects.kbs_config(**spec))
    until(lambda: available(cluster), "the KBS is available")
    until(lambda: cluster.api.get(kube.services(SPACE), kbs_deployment.SERVICE), "it has its Service")


def change(cluster: Cluster, **spec: Any) -> None:
    cluster.api.merge(f"{objects.KBS_CONFIGS}/kbs", {"spec": spec})


def test_a_kbsconfig_becomes_a_deployment_and_a_service(cluster: Cluster) -> None:
    bring_up(cluster)
    found = cluster.trustee()
    assert found is not None
    assert "ownerReferences" not in found["metadata"]
    assert found["spec"]["selector"] == {"matchLabels": {"app": "kbs"}}
    (container,) = pod_spec(cluster)["containers"]
    assert container["image"] == objects.IMAGES["KBS_IMAGE_NAME"], "images come from the operator's environment"
    assert container["resources"] == {}
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/etc/kbs-config", "/etc/auth-secret"} <= mounts
    assert "/opt/confidential-containers/kbs/repository/default/tenant" in mounts
    service = cluster.api.get(kube.services(SPACE), kbs_deployment.SERVICE)
    assert service is not None
    assert [each["kind"] for each in service["metadata"]["ownerReferences"]] == ["KbsConfig"]
    assert [(port["port"], service["spec"]["type"]) for port in service["spec"]["ports"]] == [(8080, "ClusterIP")]
    config = cr(cluster)
    assert config is not None
    assert config["metadata"]["finalizers"] == [FINALIZER]
    assert "status" not in config, "isReady is never written"


def test_microservices_are_three_containers_of_one_pod_and_the_default(cluster: Cluster) -> None:
    for name in ("as", "rvps"):
        config_map(cluster, name, {f"{name}-config.json": "{}"})
    bring_up(cluster, kbsDeploymentType=None, kbsAsConfigMapName="as", kbsRvpsConfigMapName="rvps")
    images = {each["name"]: each["image"] for each in pod_spec(cluster)["containers"]}
    assert images == {
        "kbs": objects.IMAGES["KBS_IMAGE_NAME_MICROSERVICES"],
        "as": objects.IMAGES["AS_IMAGE_NAME"],
        "rvps": objects.IMAGES["RVPS_IMAGE_NAME"],
    }


def test_one_missing_secret_holds_everything_up_until_it_appears(cluster: Cluster) -> None:
    inputs(cluster, without="tenant")
    cluster.api.create(objects.KBS_CONFIGS, objects.kbs_config())
    until(lambda: 'secrets "tenant" not found' in cluster.standin.kbs_log.lines, "the operator logs it")
    cluster.stays(lambda: cluster.trustee() is None, "a KBS without all its inputs")
    secret(cluster, "tenant", {"key": b"bytes"})
    until(lambda: available(cluster), "the KBS is available")


def test_a_name_that_is_needed_and_not_given_holds_everything_up(cluster: Cluster) -> None:
    inputs(cluster)
    cluster.api.create(objects.KBS_CONFIGS, objects.kbs_config(kbsRvpsRefValuesConfigMapName=None))
    until(lambda: any("reference-values" in line for line in cluster.standin.kbs_log.lines), "the operator logs it")
    assert cluster.trustee() is None


def test_another_name_rolls_the_pods_and_another_content_does_not(cluster: Cluster) -> None:
    bring_up(cluster)
    before = generation(cluster)
    cluster.api.merge(f"{kube.config_maps(SPACE)}/values", {"data": {"reference-values.json": "[1]"}})
    cluster.stays(lambda: generation(cluster) == before, "another content rolled the pods")
    config_map(cluster, "values-2", {"reference-values.json": "[1]"})
    change(cluster, kbsRvpsRefValuesConfigMapName="values-2")
    until(lambda: generation(cluster) == before + 1, "another name rolls them")
    volumes = {each["name"]: each for each in pod_spec(cluster)["volumes"]}
    assert volumes["reference-values"]["configMap"]["name"] == "values-2"


def test_with_two_variables_the_pods_roll_for_nothing(cluster: Cluster) -> None:
    bring_up(cluster, KbsEnvVars={"A": "1", "B": "2"})
    before = generation(cluster)
    cluster.api.merge(f"{kube.config_maps(SPACE)}/values", {"data": {"reference-values.json": "[1]"}})
    until(lambda: generation(cluster) > before, "their order is another each time")


def test_replicas_count_only_at_the_beginning(cluster: Cluster) -> None:
    bring_up(cluster, KbsDeploymentSpec={"replicas": 2})
    change(cluster, KbsDeploymentSpec={"replicas": 1}, kbsServiceType="NodePort")

    def kind() -> str:
        return str((cluster.api.get(kube.services(SPACE), kbs_deployment.SERVICE) or {})["spec"]["type"])

    until(lambda: kind() == "NodePort", "the change was seen")
    assert (cluster.trustee() or {})["spec"]["replicas"] == 2


def test_other_namespaces_are_none_of_its_business(cluster: Cluster) -> None:
    body = objects.kbs_config()
    body["metadata"]["namespace"] = "default"
    path = objects.KBS_CONFIGS.replace(SPACE, "default")
    cluster.api.create(path, body)
    try:
        cluster.stays(lambda: cluster.trustee() is None, "acted on another namespace")
        assert not any("not found" in line for line in cluster.standin.kbs_log.lines)
    finally:
        cluster.api.delete(path, "kbs")


def test_a_deletion_takes_deployment_and_service_along(cluster: Cluster) -> None:
    bring_up(cluster)
    cluster.api.delete(objects.KBS_CONFIGS, "kbs")
    until(lambda: cr(cluster) is None, "the KbsConfig is gone")
    until(lambda: cluster.trustee() is None, "its Deployment is gone")
    until(lambda: cluster.api.get(kube.services(SPACE), kbs_deployment.SERVICE) is None, "its Service is gone", 60)


def test_it_hangs_when_somebody_else_has_deleted_the_deployment(cluster: Cluster) -> None:
    bring_up(cluster)
    cluster.standin.behave(kbs=KbsBehaviour(keeps_finalizer=True))
    cluster.api.delete(objects.KBS_CONFIGS, "kbs")
    cluster.stays(lambda: cr(cluster) is not None, "it can be told to keep its finalizer")
    cluster.api.delete(kube.deployments(SPACE), kbs_deployment.NAME)
    cluster.standin.behave(kbs=KbsBehaviour())
    until(lambda: any("trustee-deployment" in line for line in cluster.standin.kbs_log.lines), "the operator logs it")
    cluster.stays(lambda: cr(cluster) is not None, "it can never let go")


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (KbsBehaviour(start="hanging"), "ContainerCreating"),
        (KbsBehaviour(start="failing"), "CrashLoopBackOff"),
        (KbsBehaviour(unpullable=frozenset({objects.IMAGES["KBS_IMAGE_NAME"]})), "ErrImagePull"),
    ],
)
def test_a_kbs_that_does_not_start_is_never_available(cluster: Cluster, behaviour: KbsBehaviour, reason: str) -> None:
    cluster.standin.behave(kbs=behaviour)
    inputs(cluster)
    # Of two, because of the next test.
    cluster.api.create(objects.KBS_CONFIGS, objects.kbs_config(KbsDeploymentSpec={"replicas": 2}))

    def reasons() -> set[str]:
        pods = cluster.api.all(kube.pods(SPACE), kbs_deployment.LABELS)
        statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
        return {status["state"].get("waiting", {}).get("reason") for status in statuses}

    until(lambda: reasons() == {reason}, "each pod says why it waits")
    cluster.stays(lambda: not available(cluster), "available without a pod that is ready")


def test_of_one_replica_the_deployment_is_called_available_without_a_pod_that_is_ready(cluster: Cluster) -> None:
    """One may be unavailable (maxUnavailable of the operator), so none has to be there: the condition says nothing."""
    cluster.standin.behave(kbs=KbsBehaviour(start="hanging"))
    bring_up(cluster)
    assert not (cluster.trustee() or {})["status"].get("readyReplicas")


def test_a_slow_kbs_becomes_available_in_its_time(cluster: Cluster) -> None:
    cluster.standin.behave(kbs=KbsBehaviour(start="slow", seconds=2))
    inputs(cluster)
    cluster.api.create(objects.KBS_CONFIGS, objects.kbs_config(KbsDeploymentSpec={"replicas": 2}))
    cluster.stays(lambda: not available(cluster), "available at once")
    until(lambda: available(cluster), "the KBS is available")


def pair(host: str) -> tuple[bytes, bytes]:
    """(key, self-signed certificate) as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem, certificate.public_bytes(serialization.Encoding.PEM)


def status_of(port: int, path: str, trusted: bytes) -> int:
    context = ssl.create_default_context(cadata=trusted.decode())
    request = f"https://localhost:{port}{path}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        return int(opener.open(request, timeout=5).status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_kbs_answers_over_tls_with_the_pair_of_the_stack(cluster: Cluster) -> None:
    key, certificate = pair("localhost")
    secret(cluster, "https-key", {"https.key": key})
    secret(cluster, "https-cert", {"https.crt": certificate})
    cluster.standin.behave(kbs=KbsBehaviour(answers=True))
    bring_up(cluster, kbsHttpsKeySecretName="https-key", kbsHttpsCertSecretName="https-cert")
    until(lambda: cluster.standin.kbs_port, "it listens")
    port = cluster.standin.kbs_port
    assert port is not None
    assert status_of(port, "/kbs/v0/resource/default/tenant/key", certificate) == 401
    assert status_of(port, "/anything", certificate) == 404
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        status_of(port, "/anything", pair("localhost")[1])
    cluster.standin.behave(kbs=KbsBehaviour())
    until(lambda: cluster.standin.kbs_port is None, "it stops when told")


def test_a_key_that_is_not_where_the_config_says_is_no_https(cluster: Cluster) -> None:
    key, certificate = pair("localhost")
    secret(cluster, "https-key", {"wrong.key": key})
    secret(cluster, "https-cert", {"https.crt": certificate})
    cluster.standin.behave(kbs=KbsBehaviour(answers=True))
    bring_up(cluster, kbsHttpsKeySecretName="https-key", kbsHttpsCertSecretName="https-cert")
    until(lambda: any("cannot serve HTTPS" in line for line in cluster.standin.kbs_log.lines), "it says so")
    assert cluster.standin.kbs_port is None
