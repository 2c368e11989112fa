"""Waiting in a hook of the engine, and what a user is told where it was in vain."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import pulumi

from components.cluster_view import UnreachableError
from components.readiness import Trouble

PAUSE = 5.0
"""Seconds between two looks at the cluster."""

Look = Callable[[], Sequence[Trouble]]
"""What is still missing, none if nothing is. UnreachableError where the cluster cannot be read."""


class RefusedError(Exception):
    """Why a step is not taken, for a user."""


async def until_nothing_is_left(look: Look, timeout: float, about: str) -> Sequence[Trouble]:
    """Looks until nothing is left or the time is over, and returns what is left. Says what it waits for, once."""
    deadline = time.monotonic() + timeout
    said: Sequence[Trouble] = ()
    while True:
        left = await asyncio.to_thread(looked, look)
        remaining = deadline - time.monotonic()
        if not left or remaining <= 0:
            return left
        if left != said:
            said = left
            more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
            pulumi.log.info(f"{about}, up to {remaining:.0f} s to wait: {left[0]}{more}")
        await asyncio.sleep(min(PAUSE, remaining))


def looked(look: Look) -> Sequence[Trouble]:
    """What is missing; that the cluster cannot be read is among it."""
    try:
        return look()
    except UnreachableError as error:
        # While containerd is restarted on a control-plane node this is to be expected.
        return (Trouble("", f"{error}.", "Make the cluster reachable with this context."),)


def told(heading: str, troubles: Sequence[Trouble], then: str) -> str:
    """A line each."""
    return "\n  ".join([heading, *map(str, troubles), f"Then {then}."])
