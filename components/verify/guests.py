"""Workloads in confidential VMs: whether they run, and whether what their guests ask the key broker for is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from components import rim
from components.confidential_workload import Workload, rim_inputs
from components.verify.finding import AGAIN, Finding, at, failed, looked, ok, unknown
from components.verify.operators import judge_deployment
from components.verify.snapshot import Snapshot, files_of
from settings.confidential_workload import WorkloadSettings
from settings.fence import Fence
from settings.kbs_secrets import IMAGE_KEY_BYTES

_URI = "kbs:///"
_REPOSITORY = "default"


def judge_workloads(workloads: Sequence[Workload], seen: Snapshot) -> list[Finding]:
    """Those of the cluster that they run on."""
    found = []
    for one in workloads:
        check = f"workload {one.namespace}/{one.name}"
        found += looked(check, partial(_workload, one, check, seen))
    return found


def _workload(one: Workload, check: str, seen: Snapshot) -> Iterator[Finding]:
    deployment = seen.one("Deployment", one.name, one.namespace)
    where = f"{one.namespace}/{one.name}"
    if one.replicas or deployment is None:
        yield from judge_deployment(check, deployment, where, {one.name: one.image})
    if deployment is None:
        return
    wanted, text = rim_inputs(one), (at(deployment, "metadata", "annotations") or {}).get(rim.ANNOTATION)
    pods = at(deployment, "spec", "template", "metadata", "annotations") or {}
    if text != rim.canonical(wanted) or pods.get(rim.HASH_ANNOTATION) != rim.fingerprint(wanted):
        what = "what is measured of it is not what is declared, so the reference values are not for it."
        yield failed(check, what, AGAIN)
    else:
        yield ok(check, f"what is measured of it is what is declared ({rim.fingerprint(wanted)}).")


def judge_asked_for(fence: Fence, namespace: str, seen: Snapshot) -> list[Finding]:
    """What guests will ask this stack's key broker for, on its cluster."""
    kbs, found = fence.kbs, []
    for one in fence.workloads:
        name = f"{one.namespace}/{one.name}"
        if one.signature_policy_uri is not None:
            check = f"signed image of {name}"
            if kbs is None or one.kbs_url not in {None, kbs.url}:
                found.append(_elsewhere(check, one))
            else:
                uri = one.signature_policy_uri
                found += looked(check, partial(_signed, check, uri, namespace, seen))
        if one.registry_auth_uri is not None:
            check = f"registry of {name}"
            if kbs is None or one.kbs_url not in {None, kbs.url}:
                found.append(_elsewhere(check, one))
            else:
                uri = one.registry_auth_uri
                found += looked(check, partial(_registry, check, uri, namespace, seen))
    keys = kbs.resources.items() if kbs is not None else ()
    uris = [
        f"{_URI}{_REPOSITORY}/{secret}/{key}"
        for secret, inside in sorted(keys)
        for key, one in sorted(inside.items())
        if one.form == "imageKey"
    ]
    for uri in uris:
        check = "key of an encrypted image"
        found += looked(check, partial(_image_key, check, uri, namespace, seen))
    return found


def judge_attestation(fence: Fence) -> list[Finding]:
    """What only a guest can tell."""
    if fence.cc_runtime is None and fence.kbs is None:
        return []
    secret = next(
        (
            (name, key)
            for name, keys in sorted((fence.kbs.resources if fence.kbs else {}).items())
            for key in sorted(keys)
        ),
        None,
    )
    path = "/".join(secret) if secret else "SECRET/KEY"
    return [
        unknown(
            "attestation",
            "whether a guest is attested, and whether its image is verified and decrypted, is decided inside the TEE.",
            "In a pod of a workload with restApi: all, "
            f"curl http://127.0.0.1:8006/cdh/resource/{_REPOSITORY}/{path} gives the value, and after a change of a "
            "reference value no more.",
        )
    ]


def _elsewhere(check: str, one: WorkloadSettings) -> Finding:
    return unknown(check, f"it asks the key broker at {one.kbs_url}, which is not this stack's.")


def _resolved(uri: str, namespace: str, seen: Snapshot) -> tuple[bytes, str]:
    """(value, "") or (nothing, why there is none)."""
    parts = uri.removeprefix(_URI).split("/")
    if not uri.startswith(_URI) or len(parts) != 3 or not all(parts):
        return b"", f"{uri} has not three parts after {_URI}"
    repository, secret, key = parts
    if repository != _REPOSITORY:
        return b"", f"{uri} is in the repository {repository}, and the operator fills only {_REPOSITORY}"
    found = seen.one("Secret", secret, namespace)
    if found is None:
        return b"", f"{uri} leads nowhere: there is no Secret {secret} in {namespace}"
    value = files_of(found).get(key)
    if not value:
        return b"", f"{uri} leads nowhere: Secret {secret} has {'no' if value is None else 'an empty'} {key}"
    config = next(iter(seen.all("KbsConfig", namespace)), None)
    if secret not in (at(config, "spec", "kbsSecretResources") or ()):
        return b"", f"{uri} leads nowhere: the KbsConfig does not name Secret {secret}"
    return value, ""


_GIVE = "Add it to kbs.resources and run pulumi up --refresh."


def _signed(check: str, uri: str, namespace: str, seen: Snapshot) -> Iterator[Finding]:
    value, why = _resolved(uri, namespace, seen)
    if why:
        yield failed(check, f"{why}, so no image starts.", _GIVE)
        return
    try:
        policy = json.loads(value)
    except ValueError:
        policy = None
    if not isinstance(policy, Mapping):
        yield failed(check, f"{uri} is no policy in JSON.", "Write it as imagePolicy in kbs.resources.")
        return
    default = [one.get("type") for one in policy.get("default") or () if isinstance(one, Mapping)]
    if default != ["reject"]:
        what = f"{uri} lets images pass that nobody named."
        yield failed(check, what, 'Write "default": [{"type": "reject"}], or use imagePolicy in kbs.resources.')
        return
    absent = []
    for key in sorted(_key_paths(policy)):
        # A path in the guest's own file system is not seen from here.
        if key.startswith(_URI):
            lacking = _resolved(key, namespace, seen)[1]
            absent += [lacking] if lacking else []
    for lacking in absent:
        yield failed(check, f"its policy names a key, and {lacking}.", _GIVE)
    if not absent:
        yield ok(check, f"{uri} refuses what is not named, and every key it names is there.")


def _key_paths(policy: Any) -> set[str]:
    if isinstance(policy, Mapping):
        own = {str(policy["keyPath"])} if "keyPath" in policy else set()
        return own.union(*(_key_paths(inner) for inner in policy.values()))
    if isinstance(policy, list):
        return set[str]().union(*(_key_paths(inner) for inner in policy))
    return set()


def _registry(check: str, uri: str, namespace: str, seen: Snapshot) -> Iterator[Finding]:
    value, why = _resolved(uri, namespace, seen)
    if why:
        yield failed(check, f"{why}, so no image is pulled.", _GIVE)
        return
    try:
        auths = json.loads(value).get("auths")
    except (ValueError, AttributeError):
        auths = None
    if not isinstance(auths, Mapping) or not auths:
        yield failed(check, f"{uri} is no .dockerconfigjson with auths.", "Write it as docker login does.")
    else:
        yield ok(check, f"{uri} is there; what is in it is not tried.")


def _image_key(check: str, uri: str, namespace: str, seen: Snapshot) -> Iterator[Finding]:
    value, why = _resolved(uri, namespace, seen)
    if why:
        yield failed(check, f"{why}.", _GIVE)
    elif len(value) != IMAGE_KEY_BYTES:
        what = f"{uri} has {len(value)} bytes, and the key of an image has exactly {IMAGE_KEY_BYTES}."
        yield failed(check, what, "Give it anew: head -c 32 /dev/urandom | base64, with pulumi config set --secret.")
    else:
        yield ok(
            check, f"{uri} is there, of {IMAGE_KEY_BYTES} bytes; whether an image is encrypted with it is unknown."
        )
