"""What the engine asks around the KbsConfig: before one is made, and where one does not go. Nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from components.cluster_view import ClusterAccess, Object, reading
from components.kbs_ready import DEPLOYMENT
from components.readiness import Trouble
from components.waiting import RefusedError, looked, told, until_nothing_is_left
from settings.kbs_secrets import SERVICE

CREATION = "ringfence-kbs-config-creation"
REMOVAL_FAILED = "ringfence-kbs-config-removal-failed"

COLLECTED_WITHIN = 60.0
"""Seconds the garbage collector is given for what a deleted KbsConfig owned; it takes one or two."""

_GROUP = "/apis/confidentialcontainers.org/v1alpha1"
_GIVE_UP = """'{"metadata":{"finalizers":null}}'"""


def around(access: ClusterAccess) -> pulumi.ResourceHookBinding:
    """Before a KbsConfig is made, waits until what one before it owned is collected; and where a deletion fails, says
    what the operator has not done.

    The engine finds these hooks by name, the second also for a KbsConfig that the program does not declare any more. So
    the program makes them in any case, once.
    """

    async def before(args: pulumi.ResourceHookArgs) -> None:
        namespace, _ = _where(args.new_inputs)

        def left() -> Sequence[Trouble]:
            with reading(access) as view:
                return left_over(view.get(f"/api/v1/namespaces/{namespace}/services/{SERVICE}"), namespace)

        found = await until_nothing_is_left(left, COLLECTED_WITHIN, "Before the KbsConfig is made")
        if found:
            raise RefusedError(told("The KbsConfig is not made:", found, "run this again"))

    async def failed(args: pulumi.ErrorHookArgs) -> bool:
        if args.failed_operation == "delete":
            namespace, name = _where(args.old_inputs)

            def left() -> Sequence[Trouble]:
                with reading(access) as view:
                    config = view.get(f"{_GROUP}/namespaces/{namespace}/kbsconfigs/{name}")
                    return (held(config, view.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{DEPLOYMENT}")),)

            pulumi.log.error(
                told("The KbsConfig is not gone yet:", await asyncio.to_thread(looked, left), "run this again")
            )
        return False

    return pulumi.ResourceHookBinding(
        before_create=[pulumi.ResourceHook(CREATION, before)], on_error=[pulumi.ErrorHook(REMOVAL_FAILED, failed)]
    )


def left_over(service: Object | None, namespace: str) -> tuple[Trouble, ...]:
    """What keeps a KbsConfig from being made in a namespace that has none: the Service of one before it.

    The operator would take it for its own, and the garbage collector then take it away.
    """
    owners = service["metadata"].get("ownerReferences") or () if service is not None else ()
    if not any(owner.get("kind") == "KbsConfig" for owner in owners):
        return ()
    what = f"the Service {namespace}/{SERVICE} of the one before it is still there."
    return (Trouble("", what, f"Let it be collected, or delete it: kubectl -n {namespace} delete service {SERVICE}."),)


def held(config: Object | None, deployment: Object | None) -> Trouble:
    """Why a KbsConfig that was deleted is still there. deployment: the KBS's.

    trustee-operator 0.5.0 deletes the Deployment and then takes its finalizer off; where it finds no Deployment any
    more, it fails at that and never comes to the finalizer.
    """
    if config is None:
        return Trouble("", "it is gone meanwhile.", "Nothing is left to do.")
    namespace, name = config["metadata"]["namespace"], config["metadata"]["name"]
    give_up = f"kubectl -n {namespace} patch kbsconfig {name} --type merge -p {_GIVE_UP}"
    if not config["metadata"].get("deletionTimestamp"):
        return Trouble("", "nobody has been able to delete it.", "The API server says why, above.")
    if deployment is None:
        what = f"its operator looks for {DEPLOYMENT} to delete it, and without that never takes its finalizer off."
        return Trouble("", what, f"Nothing of the KBS is left to be cleaned up, so take it off: {give_up}.")
    return Trouble(
        "",
        "its operator has not taken its finalizer off.",
        f"See whether it runs (kubectl -n {namespace} get deploy); or, for good, delete {DEPLOYMENT} and give the "
        f"KbsConfig up: {give_up}.",
    )


def _where(inputs: Mapping[str, Any] | None) -> tuple[str, str]:
    """(namespace, name)."""
    metadata = inputs["metadata"] if inputs else {}
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))
