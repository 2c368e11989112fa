"""What a change means for those who use the cluster, kind by kind, in sentences.

Each rests on how Kubernetes, the DRA scheduler plugin and the two confidential-container operators behave; a kind
without an entry gets no sentence, because a guess is never told as a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from policy.preview.model import Change, Op, at

RIM_INPUTS = "ringfence.dev/rim-inputs"
_HYPERVISOR = "io.katacontainers.config.hypervisor."


@dataclass(frozen=True)
class Meaning:
    """text: one or more sentences. danger: something is lost, or an outage, that no other line of a preview shows."""

    text: str
    danger: bool = False


def meanings(change: Change, all_changes: Iterable[Change] = ()) -> list[Meaning]:
    """What the change means. all_changes: the whole preview, for what goes with it."""
    if change.op is Op.SAME:
        return []
    found = [*_general(change), *_measured(change)]
    told = _KINDS.get(change.kind)
    if told is not None:
        found += told(change, tuple(all_changes))
    return list(dict.fromkeys(found))


def _general(change: Change) -> Iterator[Meaning]:
    if change.protected and change.op in (Op.DELETE, Op.REPLACE):
        yield Meaning("It is protected: pulumi refuses this, and the whole `up` with it.", danger=True)
    if change.retained and change.op is Op.DELETE:
        yield Meaning("It stays in the cluster; pulumi only forgets it.")
    before, now = change.name(before=True), change.name()
    if change.op is Op.REPLACE and before != now:
        yield Meaning(f"Its name moves from {before} to {now}: what names the old one has to follow.")


def _measured(change: Change) -> Iterator[Meaning]:
    """The RIM is a hash over kernel, command line, device tree and CPUs of a guest (virtCCA_sdk, rim_ref)."""
    if change.op not in (Op.UPDATE, Op.REPLACE):
        return
    paths = [difference.path for difference in change.told]
    named = any(RIM_INPUTS in path for path in paths)
    annotated = any(step.startswith(_HYPERVISOR) for path in paths for step in path)
    if named or annotated:
        yield Meaning(
            "What its confidential guests are measured by (RIM) changes: compute the reference values anew and publish "
            "them before this rolls out, or attestation refuses the new guests.",
            danger=True,
        )


def _claim_template(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.REPLACE and change.name() == change.name(before=True):
        yield Meaning(
            "The spec cannot be changed in place, so the old template goes before the new one comes. Pods that have "
            "their claim "
            "keep it and their NPUs; a pod created in the moment between waits for the new one."
        )
    elif change.op in (Op.REPLACE, Op.DELETE):
        yield Meaning(
            "Pods that have their claim keep it and their NPUs; a new pod that names this template stays Pending.",
            danger=True,
        )
    elif change.op is Op.UPDATE:
        yield Meaning("Only labels or annotations: claims and pods are not touched.")


def _device_class(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.UPDATE:
        if change.differs("spec", "selectors"):
            yield Meaning("Counts for allocations made from now on; pods that run keep their devices.")
        if change.differs("spec", "extendedResourceName"):
            before, now = (at(side, "spec", "extendedResourceName") or "none" for side in (change.old, change.new))
            yield Meaning(
                f"The resource by which pods without a claim ask for its devices goes from {before} to {now}."
            )
    elif change.op in (Op.DELETE, Op.REPLACE):
        yield Meaning(
            "New pods whose claims name this class are not scheduled while it is gone; pods that run keep their "
            "devices.",
            danger=True,
        )


def _daemon_set(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    driver = change.label("app.kubernetes.io/component", before=change.op is Op.DELETE) == "kubeletplugin" or any(
        at(side, "spec", "template", "metadata", "labels", "app.kubernetes.io/component") == "kubeletplugin"
        for side in (change.old, change.new)
    )
    if change.op is Op.UPDATE and change.differs("spec", "template"):
        yield Meaning(_rollout(change))
        if driver:
            yield Meaning(
                "While a node's driver is down, no claim is prepared there: new pods with NPUs wait, running ones "
                "keep theirs. "
                "After 30 s its ResourceSlices go, until it is back."
            )
        if change.differs("spec", "template", "spec", "nodeSelector"):
            yield Meaning("It leaves the nodes that the new node selector does not match, and comes to those it does.")
    elif change.op is Op.REPLACE:
        yield Meaning("All of its pods go before the new ones come, on every node at once.", danger=True)
    if driver and change.op in (Op.REPLACE, Op.DELETE):
        yield Meaning(
            "Without the driver no node prepares a claim: new pods with NPUs do not start. Running ones keep theirs.",
            danger=True,
        )


def _rollout(change: Change) -> str:
    strategy = at(change.new, "spec", "updateStrategy", "type")
    most = at(change.new, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
    if strategy == "OnDelete":
        return "Nothing rolls by itself (OnDelete): a node gets the new pod when someone deletes its old one."
    if isinstance(most, int | str):
        at_once = f"{most} of them" if isinstance(most, str) else f"{most} at once"
        return f"Its pods roll over its nodes, at most {at_once}{'' if isinstance(most, int) else ' at once'}."
    return "Its pods roll over all of its nodes."


def _deployment(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.UPDATE and change.differs("spec", "template"):
        yield Meaning("Its pods roll.")
    elif change.op is Op.REPLACE:
        yield Meaning("All of its pods go, and new ones come.", danger=True)


def _cc_runtime(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    hosts = "each host that it counts" if change.nodes is None else f"{change.nodes} hosts"
    if change.op is Op.REPLACE:
        yield Meaning(
            f"The confidential runtime is taken off {hosts} and installed anew: containerd restarts there, and in "
            f"between "
            "no pod of its runtime classes can start. Delete those pods first, or the removal hangs.",
            danger=True,
        )
    elif change.op is Op.DELETE:
        yield Meaning(
            f"The confidential runtime is taken off {hosts}, its RuntimeClasses with it. Delete the pods that use it "
            f"first, "
            "and keep the operator until it is gone, or the removal hangs.",
            danger=True,
        )
    elif change.op is Op.UPDATE and change.differs("spec"):
        yield Meaning(
            "It changes nothing on the hosts: the operator's DaemonSets are made once. It has to be replaced to "
            "take effect.",
            danger=True,
        )
    elif change.op is Op.CREATE:
        yield Meaning("The runtime is installed on every host that its selector matches: containerd restarts there.")


def _kbs_config(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.UPDATE and change.differs("spec"):
        yield Meaning(
            "The KBS pods roll. Sessions, and resources and policies that were set through its API, are kept in "
            "memory and go."
        )
    elif change.op in (Op.REPLACE, Op.DELETE):
        yield Meaning(
            "The KBS is gone in between: no guest attests or gets a key."
            if change.op is Op.REPLACE
            else "The KBS goes: no guest attests or gets a key.",
            danger=True,
        )


def _config_map(change: Change, changes: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.UPDATE and change.differs("data"):
        yield Meaning(
            "Changed in place: pods that have it mounted as a file of its own (subPath) do not see it until they "
            "restart."
        )
    elif change.op is Op.REPLACE and change.name() != change.name(before=True):
        followers = [
            f"{one.kind} {one.name()}"
            for one in changes
            if one is not change
            and any(difference.new == at(change.new, "metadata", "name") for difference in one.told)
        ]
        if followers:
            yield Meaning(f"It is followed by {', '.join(sorted(followers))}.")


def _secret(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.UPDATE:
        yield Meaning("Changed in place, under the same name; pods that have it are not restarted for it.")
    elif change.op in (Op.DELETE, Op.REPLACE) and change.name() == change.name(before=True):
        yield Meaning("New pods that name it do not start while it is gone.", danger=True)


def _node_label(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    """The install DaemonSet has the CcRuntime's selector, and a stop hook that resets the host."""
    before, now = (at(side, "metadata", "labels") or {} for side in (change.old, change.new))
    lost, gained = sorted(before.keys() - now.keys()), sorted(now.keys() - before.keys())
    moved = sorted(key for key in before.keys() & now.keys() if before[key] != now[key])
    node = change.name(before=True)
    if lost or moved:
        yield Meaning(
            f"Node {node} loses the label {', '.join(lost or moved)}, and what selects nodes by it leaves the node. "
            f"Where that is "
            "a CcRuntime, the runtime is uninstalled from that host, and a later removal of the CcRuntime may wait "
            "for it for "
            "ever.",
            danger=True,
        )
    if gained:
        yield Meaning(
            f"Node {node} gets the label {', '.join(gained)}, and what selects nodes by it comes to the node. Where "
            f"that is a "
            "CcRuntime, it restarts containerd there."
        )


def _namespace(change: Change, changes: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op not in (Op.DELETE, Op.REPLACE):
        return
    name = at(change.old, "metadata", "name")
    inside = [one for one in changes if at(one.old, "metadata", "namespace") == name]
    yield Meaning(
        f"The API server deletes everything in namespace {name}, also what this stack does not know: its pods, claims, "
        f"Secrets and volumes. {_listed(inside, 'Of this stack')}",
        danger=True,
    )


def _definition(change: Change, changes: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op not in (Op.DELETE, Op.REPLACE):
        return
    kind, group = at(change.old, "spec", "names", "kind"), at(change.old, "spec", "group")
    inside = [one for one in changes if one.kind == kind and one.api.partition("/")[0] == group]
    yield Meaning(
        f"The API server deletes every {kind} in the cluster with it, also those that this stack does not know. "
        f"{_listed(inside, 'Of this stack')}",
        danger=True,
    )


def _listed(inside: Iterable[Change], lead: str) -> str:
    names = sorted(f"{one.kind} {one.name(before=True)}" for one in inside)
    if not names:
        return f"{lead} this preview names none."
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{lead}: {', '.join(names[:12])}{more}."


def _provider(change: Change, changes: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.REPLACE:
        behind = sum(one.provider == change.urn for one in changes)
        yield Meaning(
            f"It speaks of another cluster now: every object behind it is replaced ({behind} here), made in the new "
            "cluster and deleted in the old.",
            danger=True,
        )
    elif change.op is Op.UPDATE and (change.differs("kubeconfig") or change.differs("context")):
        yield Meaning("The way to the cluster changes; pulumi takes it for the same cluster.")
    elif change.op is Op.DELETE:
        yield Meaning("Nothing in its cluster is managed by this stack any more.")


def _runtime_class(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op in (Op.DELETE, Op.REPLACE):
        yield Meaning(
            "New pods that name this runtime class are refused while it is gone; running ones go on.", danger=True
        )


def _admission(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op in (Op.DELETE, Op.REPLACE):
        yield Meaning(
            "What it refuses is let through from then on."
            if change.op is Op.DELETE
            else "What it refuses is let through in between.",
            danger=True,
        )
    elif change.op is Op.UPDATE and change.differs("spec"):
        yield Meaning(
            "What is refused changes for requests made from now on; what is there already is not judged again."
        )


def _rights(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op in (Op.DELETE, Op.REPLACE):
        yield Meaning("Whoever has its rights loses them.", danger=True)
    elif change.op is Op.UPDATE:
        yield Meaning("What its subjects may do changes at once.")


def _quota(change: Change, _: tuple[Change, ...]) -> Iterator[Meaning]:
    if change.op is Op.UPDATE:
        yield Meaning("Counts for pods created from now on; none that runs is stopped.")
    elif change.op in (Op.DELETE, Op.REPLACE):
        yield Meaning(
            "Clusters that allow a critical priority only with such a quota refuse new pods of it.", danger=True
        )


_KINDS: Mapping[str, Callable[[Change, tuple[Change, ...]], Iterator[Meaning]]] = {
    "ResourceClaimTemplate": _claim_template,
    "DeviceClass": _device_class,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "StatefulSet": _deployment,
    "CcRuntime": _cc_runtime,
    "KbsConfig": _kbs_config,
    "ConfigMap": _config_map,
    "Secret": _secret,
    "Node": _node_label,
    "NodePatch": _node_label,
    "Namespace": _namespace,
    "CustomResourceDefinition": _definition,
    "Provider": _provider,
    "RuntimeClass": _runtime_class,
    "ValidatingAdmissionPolicy": _admission,
    "ValidatingAdmissionPolicyBinding": _admission,
    "ClusterRole": _rights,
    "ClusterRoleBinding": _rights,
    "Role": _rights,
    "RoleBinding": _rights,
    "ResourceQuota": _quota,
}
