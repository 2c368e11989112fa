"""What is said of the key broker: KbsConfig, inputs, Deployment, what is in force, and what expires."""

from __future__ import annotations

import base64
import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from components.kbs_inputs import Input, inputs_of, spec_of
from components.verify.broker import judge_broker
from components.verify.declared import kbs_without_secrets
from settings.kbs import KbsSettings
from settings.trustee_operator import TrusteeImages
from tests.components.verify.clusters import NAMESPACE, deployment, lines, secret, snapshot, thing
from tests.settings.kbs_files import EAR, SIMPLE, TODAY, read

IMAGES = TrusteeImages.model_validate({"kbs": "r/kbs:1", "kbsMicroservices": "r/k:1", "as": "r/as:1", "rvps": "r/rv:1"})


def healthy(kbs: KbsSettings) -> dict[tuple[str, str], dict[str, Any]]:
    """Everything as the operator has it, by kind and name."""
    declared = kbs_without_secrets(kbs)
    inputs = inputs_of(declared)
    spec = spec_of(declared, inputs)
    # The operator writes it back with empty structures, and Secrets are named after what only their owner knows.
    spec = {**copy.deepcopy(spec), "tdxConfigSpec": {}, "ibmSEConfigSpec": {}}
    spec["kbsAuthSecretName"] = "kbs-auth-0123456789"
    objects = [thing("KbsConfig", "kbsconfig", NAMESPACE, spec=spec), *(_held(one) for one in inputs)]
    objects += [secret(name, dict(files)) for name, files in declared.resources.items()]
    objects.append(secret("kbs-auth-0123456789", {"publicKey": b"public"}))
    broker = deployment("trustee-deployment", {"kbs": "r/kbs:1"})
    pods = broker["spec"]["template"]["spec"]
    pods["volumes"] = [_volume(one) for one in inputs]
    policy = next(one for one in inputs if one.role == "attestation-policy")
    pods["containers"][0]["volumeMounts"] = [{"name": policy.name, "mountPath": policy.mount_path or "/opt/opa"}]
    objects.append(broker)
    port = {"port": 8080, "nodePort": 30080}
    objects.append(thing("Service", "kbs-service", NAMESPACE, spec={"type": kbs.service_type, "ports": [port]}))
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def _held(one: Input) -> dict[str, Any]:
    if one.kind == "Secret":
        return secret(one.name, {file: text.encode() for file, text in one.files.items()})
    return thing("ConfigMap", one.name, NAMESPACE, data=dict(one.files))


def _volume(one: Input) -> dict[str, Any]:
    if one.kind == "Secret":
        return {"name": one.name, "secret": {"secretName": one.name}}
    return {"name": one.name, "configMap": {"name": one.name}}


SETTINGS = read(SIMPLE)


def judged(objects: dict[tuple[str, str], dict[str, Any]], kbs: KbsSettings = SETTINGS, now: datetime = TODAY) -> Any:
    return judge_broker(kbs, IMAGES, NAMESPACE, alone=True, seen=snapshot(*objects.values()), now=now)


def named(role: str, kbs: KbsSettings = SETTINGS) -> tuple[str, str]:
    one = next(one for one in inputs_of(kbs_without_secrets(kbs)) if one.role == role)
    return one.kind, one.name


@pytest.mark.parametrize("base", [SIMPLE, EAR])
def test_a_healthy_key_broker_is_ok(base: dict[str, Any]) -> None:
    kbs = read(base)
    found = judged(healthy(kbs), kbs)
    assert {one.state for one in found} == {"ok"}, [one for one in found if one.state != "ok"]


def test_one_missing_input_is_told_because_it_stops_the_operator() -> None:
    objects = healthy(SETTINGS)
    del objects["Secret", "tenant-a"]
    assert lines(judged(objects), "KbsConfig: what it names") == [
        f"failed: Secret tenant-a is not in {NAMESPACE}, and without one of them the operator does nothing at all."
    ]


@pytest.mark.parametrize(
    ("secret_name", "files", "wanted"),
    [
        ("tenant-a", {"image-key": bytes(31)}, "image-key has 31 bytes, and the key of an image has exactly 32."),
        ("tenant-a", {"image-key": b""}, "image-key is empty."),
        ("tenant-a", {"other": bytes(32)}, "image-key is not in its Secret."),
        ("cosign-key", {"1": b"other"}, "1 is not what is declared."),
    ],
)
def test_what_guests_ask_for_is_measured_and_what_is_public_compared(
    secret_name: str, files: dict[str, bytes], wanted: str
) -> None:
    objects = healthy(SETTINGS) | {("Secret", secret_name): secret(secret_name, files)}
    found = lines(judged(objects), "key broker: resources")
    assert f"failed: kbs:///default/{secret_name}/{wanted}" in found


def test_no_value_of_a_secret_is_in_a_finding() -> None:
    hidden = b"never-to-be-seen"
    objects = healthy(SETTINGS) | {("Secret", "tenant-a"): secret("tenant-a", {"image-key": hidden})}
    text = str(judged(objects))
    assert hidden.decode() not in text
    assert base64.b64encode(hidden).decode() not in text


@pytest.mark.parametrize("role", ["resource-policy", "reference-values", "attestation-policy", "config"])
def test_what_is_mounted_is_compared_by_content(role: str) -> None:
    kind, name = named(role)
    objects = healthy(SETTINGS)
    key = next(iter(objects[kind, name]["data"]))
    objects[kind, name]["data"] = {key: base64.b64encode(b"other").decode()}
    assert lines(judged(objects), f"key broker: {role}") == [f"failed: {kind} {name} does not hold what is declared."]


def test_a_policy_under_a_name_that_trustee_does_not_read_is_told() -> None:
    objects = healthy(SETTINGS)
    pods = objects["Deployment", "trustee-deployment"]["spec"]["template"]["spec"]
    pods["containers"][0]["volumeMounts"][0] |= {"mountPath": "/opa/default_cpu.rego", "subPath": "default_cpu.rego"}
    wanted = "failed: it is not mounted as default.rego, which is what Trustee 0.12 reads."
    assert lines(judged(objects), "key broker: attestation-policy") == [wanted]


def test_a_policy_that_the_pods_do_not_mount_is_not_in_force() -> None:
    objects = healthy(SETTINGS)
    objects["Deployment", "trustee-deployment"]["spec"]["template"]["spec"]["volumes"] = []
    name = named("resource-policy")[1]
    assert lines(judged(objects), "key broker: resource-policy") == [
        f"failed: its pods do not mount {name}, which holds what is declared."
    ]


def test_a_kbs_config_changed_by_hand_is_told() -> None:
    objects = healthy(SETTINGS)
    objects["KbsConfig", "kbsconfig"]["spec"]["kbsServiceType"] = "ClusterIP"
    objects["KbsConfig", "kbsconfig"]["spec"]["kbsAuthSecretName"] = "mine"
    (found,) = lines(judged(objects), "KbsConfig")
    assert "kbsAuthSecretName is mine, not kbs-auth-" in found
    assert found.endswith("kbsServiceType is ClusterIP, not NodePort.")


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        (datetime(2027, 11, 10, tzinfo=UTC), "ok: virtcca.realm.rim holds for 20 more days."),
        (
            datetime(2027, 11, 20, tzinfo=UTC),
            "failed: virtcca.realm.rim expires in 10 days, at 2027-11-30T00:00:00Z; then no guest gets anything.",
        ),
        (
            datetime(2027, 11, 30, tzinfo=UTC),
            "failed: virtcca.realm.rim expired at 2027-11-30T00:00:00Z, so no guest gets anything, and nothing says "
            "why.",
        ),
    ],
)
def test_reference_values_are_told_before_they_end(now: datetime, wanted: str) -> None:
    assert lines(judged(healthy(SETTINGS), now=now), "reference values") == [wanted]


def test_a_cluster_ip_reaches_no_other_cluster() -> None:
    kbs = SETTINGS.model_copy(update={"service_type": "ClusterIP"})
    found = lines(judged(healthy(kbs), kbs), "key broker: Service")
    assert found == [
        "failed: it is a ClusterIP, which is reached from its own cluster only, and the guests run on another."
    ]


def test_a_node_port_that_is_not_the_one_guests_are_told_may_be_mapped_in_between() -> None:
    objects = healthy(SETTINGS)
    objects["Service", "kbs-service"]["spec"]["ports"][0]["nodePort"] = 31000
    assert lines(judged(objects), "key broker: Service")[1] == (
        "unknown: guests are told port 30080, and the nodes have 31000."
    )
