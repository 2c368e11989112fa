"""How a stand-in behaves: quick by default; slow, failing or hanging on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Course = Literal["quick", "slow", "failing", "hanging"]
"""quick: done at the next pass. slow: after `seconds`. failing: never done, and says so. hanging: never done."""


@dataclass(frozen=True)
class CcBehaviour:
    """Of cc-operator and of the scripts in its DaemonSets' pods.

    install, uninstall: the course of each script on each node. seconds: what one takes when slow.
    nodes: where failing and hanging happen; empty means on every node.
    error: what a failing node is listed with in status.installationStatus.failed. 0.13.0 has that list in its schema
    and never fills it; with an empty error neither does this.
    unpullable: images that no node can pull. keeps_finalizer: never removes it, although all else is done.
    """

    install: Course = "quick"
    uninstall: Course = "quick"
    seconds: float = 3.0
    nodes: frozenset[str] = frozenset()
    error: str = ""
    unpullable: frozenset[str] = frozenset()
    keeps_finalizer: bool = False


@dataclass(frozen=True)
class KbsBehaviour:
    """Of trustee-operator and of the pods of its Deployment.

    start: how the pods come to be ready; hanging and failing ones never are. seconds: what they take when slow.
    unpullable: images that no node can pull. keeps_finalizer: never removes it. answers: serve HTTPS on loopback with
    the key and certificate of the KbsConfig, while the Deployment is available.
    statuses: what else than 404 is answered to GET, by the start of the path.
    """

    start: Course = "quick"
    seconds: float = 3.0
    unpullable: frozenset[str] = frozenset()
    keeps_finalizer: bool = False
    answers: bool = False
    statuses: Mapping[str, int] = field(default_factory=lambda: {"/kbs/v0/resource/": 401})
