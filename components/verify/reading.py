"""Reads what a verification looks at, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubernetes.client import ApiException

from components.cluster_view import View
from components.verify.snapshot import Hidden, Key, Object, Snapshot

_REFUSED = frozenset({401, 403})
_GROUPS = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "CcRuntime": ("/apis/confidentialcontainers.org/v1beta1", "ccruntimes"),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "KbsConfig": ("/apis/confidentialcontainers.org/v1alpha1", "kbsconfigs"),
    "Namespace": ("/api/v1", "namespaces"),
    "Node": ("/api/v1", "nodes"),
    "Pod": ("/api/v1", "pods"),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses"),
    "Secret": ("/api/v1", "secrets"),
    "Service": ("/api/v1", "services"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
}


@dataclass(frozen=True)
class Want:
    """names: only these, one by one, as of Secrets: no more is read than is looked at. None for all."""

    kind: str
    namespace: str = ""
    names: tuple[str, ...] | None = None


def snapshot(view: View, wanted: Iterable[Want]) -> Snapshot:
    """What is there of what is wanted. What this user may not read is kept as such."""
    version = view.get("/version") or {}
    lists: dict[Key, Sequence[Object] | Hidden] = {}
    return add(view, Snapshot(str(version.get("gitVersion", "")), lists), wanted)


def add(view: View, seen: Snapshot, wanted: Iterable[Want]) -> Snapshot:
    """The snapshot with more."""
    lists = dict(seen.lists)
    for one in wanted:
        before = lists.get((one.kind, one.namespace), ())
        found = _read(view, one)
        hidden = next((each for each in (before, found) if isinstance(each, Hidden)), None)
        lists[one.kind, one.namespace] = hidden or [*_plain(before), *_plain(found)]
    return Snapshot(seen.version, lists)


def _plain(found: Sequence[Object] | Hidden) -> Sequence[Object]:
    return () if isinstance(found, Hidden) else found


def _read(view: View, want: Want) -> Sequence[Object] | Hidden:
    group, plural = _GROUPS[want.kind]
    path = f"{group}/namespaces/{want.namespace}/{plural}" if want.namespace else f"{group}/{plural}"
    try:
        if want.names is None:
            listed = view.get(path) or {}
            return [{**one, "kind": want.kind} for one in listed.get("items") or ()]
        found = [view.get(f"{path}/{name}") for name in want.names]
        return [one for one in found if one is not None]
    except ApiException as error:
        if error.status in _REFUSED:
            return Hidden(f"the API server answers {error.status}")
        raise
