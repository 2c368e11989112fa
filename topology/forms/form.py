"""A form as data: what a claim's spec says, and which family of forms it is of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

REQUEST = "npu"


@dataclass(frozen=True)
class Form:
    """requests and constraints as in a claim's spec; rests_on: the assumptions that they rest on.

    family: a short name, the same for what is written the same way; it is told to people and never interpreted.
    """

    family: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    constraints: list[dict[str, Any]] = field(default_factory=list)
    rests_on: frozenset[str] = frozenset()

    def spec(self) -> dict[str, Any]:
        devices: dict[str, Any] = {"requests": self.requests}
        # An empty list would come back from the server as no list, and be a difference for ever.
        if self.constraints:
            devices["constraints"] = self.constraints
        return {"devices": devices}
