"""An operator: its namespace, CRD, pull secrets and Deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.npu_dra_driver import POD_SECURITY
from components.verify.finding import AGAIN, Finding, Object, at, failed, listed, looked, ok, unknown
from components.verify.snapshot import Snapshot

_STUCK = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})


@dataclass(frozen=True, kw_only=True)
class Operator:
    """name: such as cc-operator. crd: the manifest that belongs to the version. env: what its Deployment has to have.

    accounts: the ServiceAccounts that need the pull secrets. owns_crd: whether the stack installs the CRD.
    """

    name: str
    version: str
    namespace: str
    image: str
    crd: Mapping[str, Any]
    owns_crd: bool = True
    pull_secrets: Sequence[str] = ()
    accounts: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def deployment(self) -> str:
        return f"{self.name}-controller-manager"


def judge_operator(operator: Operator, seen: Snapshot) -> list[Finding]:
    """Every finding about it."""
    name = operator.name
    return [
        *looked(f"{name}: namespace", lambda: _namespace(operator, seen)),
        *looked(f"{name}: CRD", lambda: _crd(operator, seen)),
        *looked(f"{name}: Deployment", lambda: _deployment(operator, seen)),
        *looked(f"{name}: pull secrets", lambda: _pull_secrets(operator, seen)),
    ]


def unpullable(check: str, namespace: str, seen: Snapshot) -> list[Finding]:
    """Pods of the namespace whose images cannot be pulled, or whose containers end again and again."""

    def judge() -> Iterator[Finding]:
        pods = sorted(seen.all("Pod", namespace), key=lambda pod: str(pod["metadata"]["name"]))
        found = [finding for pod in pods for finding in _pod(check, namespace, pod)]
        yield from found or [ok(check, f"no pod of {namespace} is held up by its image.")]

    return looked(check, judge)


def judge_deployment(check: str, found: Object | None, where: str, images: Mapping[str, str]) -> list[Finding]:
    """where: namespace/name. images: container → image as declared.

    Its ready pods are counted: with one pod, of which one may be missing, a Deployment is Available without any.
    """
    if found is None:
        return [failed(check, f"there is no Deployment {where}.", AGAIN)]
    running = {one["name"]: one["image"] for one in at(found, "spec", "template", "spec", "containers") or ()}
    wrong = [
        failed(check, f"container {name} has image {running.get(name, 'none')}, and {image} is declared.", AGAIN)
        for name, image in images.items()
        if running.get(name) != image
    ]
    namespace, _, name = where.partition("/")
    trouble = _unready(found)
    if trouble is not None:
        remedy = (
            AGAIN if at(found, "spec", "replicas") == 0 else f"Its pods say why: kubectl -n {namespace} describe pods."
        )
        wrong.append(failed(check, f"{name} {trouble}.", remedy))
    ready = at(found, "status", "readyReplicas")
    return wrong or [ok(check, f"{name} is available, {ready} ready, with {listed(set(images.values()))}.")]


def _unready(found: Object) -> str | None:
    status = found.get("status") or {}
    wanted, ready = at(found, "spec", "replicas"), status.get("readyReplicas") or 0
    wanted = 1 if wanted is None else wanted
    if wanted == 0:
        return "is scaled to 0"
    if status.get("observedGeneration", 0) < (at(found, "metadata", "generation") or 0):
        return "has been changed, and its controller has not looked yet"
    if ready < wanted or (status.get("updatedReplicas") or 0) < wanted:
        return f"has {min(ready, status.get('updatedReplicas') or 0)} of {wanted} pods up to date and ready"
    if all(one.get("status") != "True" for one in status.get("conditions") or () if one.get("type") == "Available"):
        return "is not Available"
    return None


def _namespace(operator: Operator, seen: Snapshot) -> Iterator[Finding]:
    check = f"{operator.name}: namespace"
    found = seen.one("Namespace", operator.namespace)
    if found is None:
        yield failed(check, f"there is no namespace {operator.namespace}.", "Run pulumi up --refresh.")
        return
    labels = at(found, "metadata", "labels") or {}
    wrong = [f"{key}={labels.get(key, 'none')}" for key, value in POD_SECURITY.items() if labels.get(key) != value]
    if wrong:
        remedy = "Run pulumi up --refresh, or privileged pods are refused; a policy of the cluster may have set them."
        yield failed(check, f"{operator.namespace} has {listed(wrong)}, and privileged is needed.", remedy)
    else:
        yield ok(check, f"{operator.namespace} allows privileged pods.")


def _crd(operator: Operator, seen: Snapshot) -> Iterator[Finding]:
    check, name = f"{operator.name}: CRD", operator.crd["metadata"]["name"]
    found = seen.one("CustomResourceDefinition", name)
    if found is None:
        remedy = "Run pulumi up --refresh." if operator.owns_crd else "Install it, or remove crd: skip."
        yield failed(check, f"there is no CRD {name}.", remedy)
        return
    conditions = {one["type"]: one for one in at(found, "status", "conditions") or ()}
    if at(conditions.get("Established"), "status") != "True":
        why = at(conditions.get("NamesAccepted"), "message") or "the API server does not say why"
        yield failed(
            check, f"{name} is not Established: {str(why).rstrip('.')}.", "Remove what has the same names, or wait."
        )
        return
    wanted, there = _fields(operator.crd), _fields(found)
    lacking, more = sorted(wanted - there), sorted(there - wanted)
    if not lacking and not more:
        yield ok(check, f"{name} is served, with the fields of {operator.version}.")
        return
    parts = [f"lacks {_some(lacking)}"] if lacking else []
    parts += [f"has {_some(more)} besides"] if more else []
    what = f"{name} is not that of {operator.version}: it {' and '.join(parts)}."
    if operator.owns_crd:
        remedy = "Run pulumi up --refresh, which puts it back; see that no other installation of the operator is left."
        yield failed(check, what, remedy)
    else:
        yield unknown(check, f"{what} Whether the operator minds cannot be told, as it is not the stack's (crd: skip).")


def _fields(crd: Mapping[str, Any]) -> set[str]:
    """Every field of every served version, with its type. Descriptions are left out: they are ours."""
    return {
        f"{one['name']}: {field}"
        for one in at(crd, "spec", "versions") or ()
        if one.get("served")
        for field in _paths("", at(one, "schema", "openAPIV3Schema") or {})
    }


def _paths(path: str, schema: Mapping[str, Any]) -> Iterator[str]:
    kind = schema.get("type") or ("int-or-string" if schema.get("x-kubernetes-int-or-string") else "any")
    values = "|".join(str(value) for value in schema.get("enum") or ())
    if path:
        yield f"{path} ({kind}{' ' + values if values else ''})"
    for name, inner in (schema.get("properties") or {}).items():
        yield from _paths(f"{path}.{name}" if path else name, inner)
    if isinstance(schema.get("items"), Mapping):
        yield from _paths(f"{path}[]", schema["items"])
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _paths(f"{path}.*", schema["additionalProperties"])


def _some(fields: Sequence[str]) -> str:
    return fields[0] if len(fields) == 1 else f"{fields[0]} and {len(fields) - 1} more"


def _deployment(operator: Operator, seen: Snapshot) -> Iterator[Finding]:
    check = f"{operator.name}: Deployment"
    found = seen.one("Deployment", operator.deployment, operator.namespace)
    where = f"{operator.namespace}/{operator.deployment}"
    yield from judge_deployment(check, found, where, {"manager": operator.image})
    if found is None or not operator.env:
        return
    containers = at(found, "spec", "template", "spec", "containers") or ()
    there = {one["name"]: one.get("value") for container in containers for one in container.get("env") or ()}
    wrong = sorted(name for name, value in operator.env.items() if there.get(name) != value)
    for name in wrong:
        what = f"{name} is {there.get(name) or 'not set'}, and {operator.env[name]} is declared."
        yield failed(f"{operator.name}: images", what, AGAIN)
    if not wrong:
        yield ok(f"{operator.name}: images", f"the {len(operator.env)} images it deploys are those declared.")


def _pull_secrets(operator: Operator, seen: Snapshot) -> Iterator[Finding]:
    check = f"{operator.name}: pull secrets"
    for secret in operator.pull_secrets:
        if seen.one("Secret", secret, operator.namespace) is None:
            remedy = f"kubectl -n {operator.namespace} create secret docker-registry {secret}, with its credentials."
            yield failed(check, f"there is no Secret {secret} in {operator.namespace}.", remedy)
            continue
        without = [
            account
            for account in operator.accounts
            if secret not in _referenced(seen.one("ServiceAccount", account, operator.namespace))
        ]
        if without:
            yield failed(check, f"ServiceAccount {listed(without)} does not name {secret}.", AGAIN)
        else:
            yield ok(check, f"{secret} is there and named by {listed(operator.accounts)}; what is in it is not tried.")


def _referenced(account: Object | None) -> set[str]:
    return {one["name"] for one in at(account, "imagePullSecrets") or ()}


def _pod(check: str, namespace: str, pod: Object) -> Iterator[Finding]:
    statuses = [
        *(at(pod, "status", "initContainerStatuses") or ()),
        *(at(pod, "status", "containerStatuses") or ()),
    ]
    name, node = pod["metadata"]["name"], at(pod, "spec", "nodeName") or "no node"
    for status in statuses:
        waiting = at(status, "state", "waiting") or {}
        reason = waiting.get("reason")
        if reason in _STUCK:
            what = f"pod {name} on {node} cannot pull {status['image']} ({reason})."
            remedy = (
                "See that the image is there and that the node reaches the registry; credentials go to "
                f"imagePullSecrets of the operator. More: kubectl -n {namespace} describe pod {name}."
            )
            yield failed(check, what, remedy)
        elif reason == "CrashLoopBackOff":
            what = f"pod {name} on {node} ends again and again."
            yield failed(check, what, f"Its log says why: kubectl -n {namespace} logs {name} --previous.")
