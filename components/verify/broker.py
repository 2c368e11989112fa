"""The key broker on its cluster: the one KbsConfig, all that it names, and the Deployment that its operator makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from components.kbs_config import NAME
from components.kbs_inputs import Input, inputs_of, spec_of
from components.kbs_ready import DEPLOYMENT
from components.verify.declared import WITHOUT_SECRETS, kbs_without_secrets
from components.verify.drift import differences
from components.verify.finding import AGAIN, Finding, Object, at, failed, listed, looked, ok, unknown
from components.verify.operators import judge_deployment, unpullable
from components.verify.snapshot import Snapshot, files_of
from settings.kbs import KbsSettings
from settings.kbs_checks import EXPIRES_SOON
from settings.kbs_secrets import IMAGE_KEY_BYTES, SERVICE
from settings.trustee import ALL_IN_ONE, policy_file
from settings.trustee_operator import TrusteeImages

PORT = 8080
_ATTESTATION = "attestation-policy"


def judge_broker(
    kbs: KbsSettings, images: TrusteeImages, namespace: str, *, alone: bool, seen: Snapshot, now: datetime
) -> list[Finding]:
    """alone: whether guests run on another cluster. now: with a time zone."""
    declared = kbs_without_secrets(kbs)
    inputs = inputs_of(declared)
    deployment = "key broker: Deployment"
    return [
        *looked("KbsConfig", lambda: _one(spec_of(declared, inputs), namespace, seen)),
        *looked("KbsConfig: what it names", lambda: _named(namespace, seen)),
        *looked("key broker: resources", lambda: _resources(kbs, declared.resources, namespace, seen)),
        *looked(deployment, lambda: _deployment(kbs, images, namespace, seen)),
        *unpullable("key broker: pods", namespace, seen),
        *looked("key broker: in force", lambda: _in_force(kbs, inputs, namespace, seen)),
        *_expiry(kbs, now),
        *looked("key broker: Service", lambda: _service(kbs, namespace, alone=alone, seen=seen)),
    ]


def _one(spec: Mapping[str, Any], namespace: str, seen: Snapshot) -> Iterator[Finding]:
    check = "KbsConfig"
    there = seen.all("KbsConfig", namespace)
    others = [str(one["metadata"]["name"]) for one in there if one["metadata"]["name"] != NAME]
    if others:
        what = f"there is {listed(others)} besides {NAME} in {namespace}, and both make {DEPLOYMENT}."
        yield failed(check, what, f"Delete it: kubectl -n {namespace} delete kbsconfig {' '.join(sorted(others))}.")
    mine = seen.one("KbsConfig", NAME, namespace)
    if mine is None:
        yield failed(check, f"there is no KbsConfig {NAME} in {namespace}.", "Run pulumi up --refresh.")
        return
    changed = differences(spec, _without_secret_names(mine.get("spec") or {}, spec))
    if changed:
        yield failed(check, f"its spec is not the declared one: {'; '.join(changed)}.", AGAIN)
    elif not others:
        yield ok(check, f"{NAME} is the only one in {namespace}, and its spec the declared one.")


def _without_secret_names(live: Any, declared: Any) -> Any:
    """The live spec, where a name made of a secret's public half is taken for the declared one if its stem fits.

    Here nobody has the secret, so the digits at the end of the name cannot be computed.
    """
    if isinstance(declared, Mapping) and isinstance(live, Mapping):
        return {key: _without_secret_names(value, declared.get(key)) for key, value in live.items()}
    if isinstance(declared, list) and isinstance(live, list) and len(declared) == len(live):
        return [_without_secret_names(now, wanted) for wanted, now in zip(declared, live, strict=True)]
    if isinstance(declared, str) and isinstance(live, str):
        stem = declared.rpartition("-")[0]
        if stem.removeprefix("kbs-") in WITHOUT_SECRETS and live.rpartition("-")[0] == stem:
            return declared
    return live


def _named(namespace: str, seen: Snapshot) -> Iterator[Finding]:
    check = "KbsConfig: what it names"
    mine = seen.one("KbsConfig", NAME, namespace)
    if mine is None:
        return
    maps, secrets = names_in(mine.get("spec") or {})
    absent = [f"ConfigMap {name}" for name in maps if seen.one("ConfigMap", name, namespace) is None]
    absent += [f"Secret {name}" for name in secrets if seen.one("Secret", name, namespace) is None]
    for one in absent:
        what = f"{one} is not in {namespace}, and without one of them the operator does nothing at all."
        yield failed(check, what, "Run pulumi up --refresh, which makes it again.")
    if not absent:
        yield ok(check, f"all {len(maps)} ConfigMaps and {len(secrets)} Secrets are there.")


def names_in(spec: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The ConfigMaps and the Secrets that a KbsConfig names, in order."""
    maps = {value for field, value in spec.items() if field.endswith("ConfigMapName")}
    maps.add(at(spec, "tdxConfigSpec", "kbsTdxConfigMapName"))
    secrets = {value for field, value in spec.items() if field.endswith("SecretName")}
    secrets |= set(spec.get("kbsSecretResources") or ())
    secrets |= {one.get("secretName") for one in at(spec, "kbsLocalCertCacheSpec", "secrets") or ()}
    return sorted(maps - {None, ""}), sorted(secrets - {None, ""})


def _resources(
    kbs: KbsSettings, declared: Mapping[str, Mapping[str, bytes]], namespace: str, seen: Snapshot
) -> Iterator[Finding]:
    """What guests ask for. Its size is looked at; the content only of what is for everyone to know."""
    check, right = "key broker: resources", 0
    for secret, keys in sorted(kbs.resources.items()):
        found = seen.one("Secret", secret, namespace)
        if found is None:
            what = f"there is no Secret {secret} in {namespace}, so kbs:///default/{secret}/… gives nothing."
            yield failed(check, what, "Run pulumi up --refresh, which makes it again.")
            continue
        files = files_of(found)
        for key, one in sorted(keys.items()):
            wrong = _resource(f"kbs:///default/{secret}/{key}", files.get(key), image_key=one.form == "imageKey")
            if wrong is None and one.secret is None and files[key] != declared[secret][key]:
                wrong = f"kbs:///default/{secret}/{key} is not what is declared."
            if wrong is None:
                right += 1
            else:
                yield failed(check, wrong, AGAIN)
    if right:
        yield ok(check, f"{right} of kbs:///default are there, none of them empty.")


def _resource(uri: str, value: bytes | None, *, image_key: bool) -> str | None:
    if value is None:
        return f"{uri} is not in its Secret."
    if not value:
        return f"{uri} is empty."
    if image_key and len(value) != IMAGE_KEY_BYTES:
        return f"{uri} has {len(value)} bytes, and the key of an image has exactly {IMAGE_KEY_BYTES}."
    return None


def _deployment(kbs: KbsSettings, images: TrusteeImages, namespace: str, seen: Snapshot) -> Iterator[Finding]:
    check = "key broker: Deployment"
    if kbs.deployment_type == ALL_IN_ONE:
        wanted = {"kbs": images.kbs}
    else:
        wanted = {"kbs": images.kbs_microservices, "as": images.attestation_service, "rvps": images.rvps}
    found = seen.one("Deployment", DEPLOYMENT, namespace)
    if found is None:
        what = f"there is no Deployment {DEPLOYMENT} in {namespace}."
        remedy = f"Its operator says why: kubectl -n {namespace} logs deployment/trustee-operator-controller-manager."
        yield failed(check, what, remedy)
        return
    yield from judge_deployment(check, found, f"{namespace}/{DEPLOYMENT}", wanted)
    replicas = at(found, "spec", "replicas")
    if replicas and replicas != kbs.replicas:
        what = f"it has {replicas} replicas, and {kbs.replicas} are declared."
        yield failed(check, what, f"kubectl -n {namespace} scale deployment {DEPLOYMENT} --replicas {kbs.replicas}.")


def _in_force(kbs: KbsSettings, inputs: Sequence[Input], namespace: str, seen: Snapshot) -> Iterator[Finding]:
    """What the pods mount, by content: a name may be right and what is behind it another."""
    deployment = seen.one("Deployment", DEPLOYMENT, namespace)
    if deployment is None:
        yield unknown("key broker: in force", f"without {DEPLOYMENT} nothing is.")
        return
    volumes = {one["name"]: one for one in at(deployment, "spec", "template", "spec", "volumes") or ()}
    for one in inputs:
        if one.role in WITHOUT_SECRETS:
            continue
        check = f"key broker: {one.role}"
        holder = next((name for name, volume in volumes.items() if one.name == _source(volume)), None)
        found = seen.one(one.kind, one.name, namespace)
        if holder is None:
            what = f"its pods do not mount {one.name}, which holds what is declared."
            yield failed(check, what, "Run pulumi up --refresh, and wait until the key broker has rolled over.")
        elif found is None:
            yield failed(check, f"{one.kind} {one.name} is gone.", "Run pulumi up --refresh, which makes it again.")
        elif files_of(found) != {file: text.encode() for file, text in one.files.items()}:
            what = f"{one.kind} {one.name} does not hold what is declared."
            remedy = (
                f"Delete it (kubectl -n {namespace} delete {one.kind.lower()} {one.name}), run pulumi up --refresh, "
                f"then kubectl -n {namespace} rollout restart deployment {DEPLOYMENT}."
            )
            yield failed(check, what, remedy)
        elif one.role == _ATTESTATION and not _read_as(deployment, holder, one, wanted := _policy_file(kbs)):
            what = f"it is not mounted as {wanted}, which is what Trustee {kbs.trustee_version} reads."
            yield failed(check, what, "Run pulumi up --refresh; see that trusteeVersion is that of the images.")
        else:
            yield ok(check, f"the pods mount {one.name}, which holds what is declared.")
    if not any(one.role == _ATTESTATION for one in inputs):
        yield unknown(f"key broker: {_ATTESTATION}", "it is the one in the image, which is not seen from here.")


def _policy_file(kbs: KbsSettings) -> str:
    return policy_file(kbs.trustee_version, kbs.token.broker)


def _source(volume: Object) -> str | None:
    found: str | None = at(volume, "configMap", "name") or at(volume, "secret", "secretName")
    return found


def _read_as(deployment: Object, volume: str, one: Input, file: str) -> bool:
    """Whether some container has the file under the name that Trustee looks for."""
    containers = at(deployment, "spec", "template", "spec", "containers") or ()
    mounts = [mount for container in containers for mount in container.get("volumeMounts") or ()]
    paths = [
        mount["mountPath"] if mount.get("subPath") else f"{mount['mountPath']}/{name}"
        for mount in mounts
        if mount["name"] == volume
        for name in one.files
    ]
    return any(path.endswith(f"/{file}") for path in paths)


def _expiry(kbs: KbsSettings, now: datetime) -> Iterator[Finding]:
    check = "reference values"
    for one in kbs.reference_values:
        until = datetime.strptime(one.expiration, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        left = until - now
        remedy = "Write a later expiration in the stack file, once the value still holds, and run pulumi up."
        if left <= timedelta(0):
            what = f"{one.name} expired at {one.expiration}, so no guest gets anything, and nothing says why."
            yield failed(check, what, remedy)
        elif left < EXPIRES_SOON:
            what = f"{one.name} expires in {left.days} days, at {one.expiration}; then no guest gets anything."
            yield failed(check, what, remedy)
        else:
            yield ok(check, f"{one.name} holds for {left.days} more days.")


def _service(kbs: KbsSettings, namespace: str, *, alone: bool, seen: Snapshot) -> Iterator[Finding]:
    check, found = "key broker: Service", seen.one("Service", SERVICE, namespace)
    if found is None:
        yield failed(check, f"there is no Service {SERVICE} in {namespace}.", "The operator makes it; see its log.")
        return
    kind = at(found, "spec", "type")
    ports = [one.get("port") for one in at(found, "spec", "ports") or ()]
    if kind != kbs.service_type:
        yield failed(check, f"{SERVICE} is of type {kind}, and {kbs.service_type} is declared.", AGAIN)
    elif alone and kind == "ClusterIP":
        what = "it is a ClusterIP, which is reached from its own cluster only, and the guests run on another."
        yield failed(check, what, "Write serviceType: LoadBalancer or NodePort.")
    elif PORT not in ports:
        yield failed(check, f"{SERVICE} has no port {PORT}.", AGAIN)
    else:
        yield ok(check, f"{SERVICE} is a {kind} with port {PORT}{_node_port(found)}.")
    node_ports = [one.get("nodePort") for one in at(found, "spec", "ports") or ()]
    if kind == "NodePort" == kbs.service_type and kbs.address.port not in node_ports:
        what = f"guests are told port {kbs.address.port}, and the nodes have {listed(str(one) for one in node_ports)}."
        yield unknown(check, what, "Unless something in between maps the one to the other, change address.port.")


def _node_port(service: Object) -> str:
    ports = [str(one["nodePort"]) for one in at(service, "spec", "ports") or () if one.get("nodePort")]
    return f", on the nodes {listed(ports)}" if ports else ""
