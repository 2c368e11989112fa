"""What the replica may not answer, and what the scheduler itself answers with an error."""

from __future__ import annotations

from topology.errors import TopologyError


class Unmodelled(TopologyError):  # noqa: N818 - it is no fault of the input: it is the limit of the replica
    """Something that decides the outcome and that the replica does not do as the scheduler does. Never guessed."""

    def __init__(self, feature: str) -> None:
        self.feature = feature
        super().__init__(f"The scheduler's search is not replicated for {feature}.", remedy="Ask a real scheduler.")


class Malformed(TopologyError):  # noqa: N818 - as Unmodelled
    """An object that the API server would not have taken: `path` says where."""

    def __init__(self, path: str, reason: str, remedy: str = "Write it as resource.k8s.io/v1 has it.") -> None:
        self.path = path
        super().__init__(f"{path}: {reason}.", remedy=remedy)


class SchedulerError(Exception):
    """An error of the allocator. fatal: it fails the pod on every node, else this node only."""

    def __init__(self, why: str, *, fatal: bool = True) -> None:
        self.why = why
        self.fatal = fatal
        super().__init__(why)


class TooLong(Exception):  # noqa: N818
    """The search was given up after `calls` calls of the inner function, the limit the caller set."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        super().__init__(f"the search was given up after {calls} calls")
