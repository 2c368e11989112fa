"""What the engine asks around the CcRuntime: before a node is labelled, until it is ready, before it is deleted.

Hooks run in the program while `pulumi up` does its steps; where one fails, the step fails with its words and is taken
again the next time. None of them writes anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from components import readiness
from components.cluster_view import ClusterAccess, UnreachableError, reading
from components.readiness import Trouble
from components.waiting import RefusedError, looked, told, until_nothing_is_left

REMOVAL = "ringfence-cc-runtime-removal"
REMOVAL_FAILED = "ringfence-cc-runtime-removal-failed"

_OPERATOR_GONE = "See whether the operator runs (kubectl -n confidential-containers-system get deploy). "


def until_ready(
    access: ClusterAccess, hook_name: str, name: str, expected: Sequence[str], timeout: float
) -> pulumi.ResourceHook:
    """Waits until the CcRuntime is ready on every node of `expected`; fails after `timeout` s with what is missing."""

    def missing() -> Sequence[Trouble]:
        with reading(access) as view:
            return readiness.judge(view.cc_runtime(name), view.nodes(), view.runtime_classes(), expected).missing

    async def hook(_: pulumi.ResourceHookArgs) -> None:
        left = await until_nothing_is_left(missing, timeout, f"CcRuntime {name}")
        if left:
            heading = f"CcRuntime {name} is not ready after {timeout:.0f} s:"
            raise RefusedError(told(heading, left, "run pulumi up again, which goes on waiting"))

    return pulumi.ResourceHook(hook_name, hook)


def removal(access: ClusterAccess, timeout: float) -> pulumi.ResourceHookBinding:
    """Waits, before a CcRuntime is deleted, until no pod needs it any more; fails after `timeout` s, naming them.

    And where the deletion itself fails, says which hosts are not restored.

    The engine finds these hooks by name, also for a CcRuntime which the program does not declare any more. So the
    program makes them in any case, once; and `pulumi destroy` wants --run-program.
    """

    async def before(args: pulumi.ResourceHookArgs) -> None:
        name = _name(args.old_inputs)

        def hindrances() -> Sequence[Trouble]:
            with reading(access) as view:
                found = view.cc_runtime(name)
                if found is None or readiness.going(found):
                    return ()
                return readiness.hindrances(found, view.nodes(), view.pods())

        left = await until_nothing_is_left(hindrances, timeout, f"Before CcRuntime {name} goes")
        if left:
            raise RefusedError(told(f"CcRuntime {name} is kept:", left, "run this again"))

    async def failed(args: pulumi.ErrorHookArgs) -> bool:
        if args.failed_operation == "delete":
            name = _name(args.old_inputs)
            left = await asyncio.to_thread(looked, lambda: _unrestored(access, name))
            pulumi.log.error(told(f"CcRuntime {name} is not gone yet:", left, "run this again"))
        return False

    return pulumi.ResourceHookBinding(
        before_delete=[pulumi.ResourceHook(REMOVAL, before)], on_error=[pulumi.ErrorHook(REMOVAL_FAILED, failed)]
    )


def _unrestored(access: ClusterAccess, name: str) -> Sequence[Trouble]:
    with reading(access) as view:
        found = view.cc_runtime(name)
        if found is None:
            return (Trouble("", "it is gone meanwhile.", "Nothing is left to do."),)
        waiting = Trouble("", "the operator has not taken its finalizer off.", _OPERATOR_GONE + readiness.rescue(found))
        return readiness.unrestored(found, view.nodes()) or (waiting,)


def _name(inputs: Mapping[str, Any] | None) -> str:
    return str(inputs["metadata"]["name"]) if inputs else ""


def before_label(access: ClusterAccess, hook_name: str, node: str, label: tuple[str, str]) -> pulumi.ResourceHook:
    """For before_create of a label: fails, in preview too, unless the node is there and the label free.

    A server-side apply to a node that is not there would make one.
    """

    async def hook(_: pulumi.ResourceHookArgs) -> None:
        try:
            trouble = await asyncio.to_thread(_label_trouble, access, node, label)
        except UnreachableError as error:
            if not pulumi.runtime.is_dry_run():
                raise RefusedError(f"node {node} is not labelled: {error}. Make it reachable.") from None
            pulumi.log.warn(f"Whether node {node} is there is not known: {error}.")
            return
        if trouble is not None:
            raise RefusedError(f"node {trouble}")

    return pulumi.ResourceHook(hook_name, hook, pulumi.ResourceHookOptions(on_dry_run=True))


def _label_trouble(access: ClusterAccess, node: str, label: tuple[str, str]) -> Trouble | None:
    with reading(access) as view:
        return readiness.label_trouble(node, view.node(node), *label)
