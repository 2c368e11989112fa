"""What the scheduler does for one claim in one state, counted step by step.

Beside the entries of the allocator's inner function, which topology.search counts for the worst case, a claim that fits
costs expressions: for each device that a request comes upon, the class's and, where the class lets it in, the request's
own; once for each request and device, since the allocator remembers the answer. Then each constraint over the request
is asked about each device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topology.devices import Value

CACHED = 10
"""Compiled expressions that the scheduler keeps (facts: plugin dynamicresources)."""


@dataclass(frozen=True)
class Asked:
    """A request or one of its alternatives. open_to: devices that its selectors let in, as bits; expressions: those."""

    count: int
    open_to: int
    expressions: tuple[str, ...]
    rules: tuple[int, ...]


@dataclass(frozen=True)
class Rule:
    """A matchAttribute: the devices of each of its values, as bits."""

    classes: tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """A claim's requests in order, each its alternatives, over devices in the order of the slice."""

    requests: tuple[tuple[Asked, ...], ...]
    listed: tuple[bool, ...]
    rules: tuple[Rule, ...]

    @property
    def expressions(self) -> int:
        """Different expressions, that of the class among them."""
        return 1 + len({e for alternatives in self.requests for asked in alternatives for e in asked.expressions})


@dataclass
class Work:
    """calls: entries of the inner function. classes, selectors: expressions evaluated. checks: constraints asked.

    compiled: expressions compiled anew, because more are in use than are kept. Fractions are means over several states.
    """

    fits: bool = False
    calls: float = 0
    classes: float = 0
    selectors: float = 0
    checks: float = 0
    compiled: float = 0


def read_claim(
    spec: Mapping[str, Any], known: Sequence[Mapping[str, Value]], driver: str, selected: Mapping[str, int]
) -> Claim:
    """The claim of a compiled template over devices with these attributes. selected: expression → devices, as bits."""
    devices = spec["devices"]
    constraints = [
        (set(c["requests"]), str(c["matchAttribute"]).removeprefix(f"{driver}/"))
        for c in devices.get("constraints", [])
    ]
    requests = []
    for request in devices["requests"]:
        name = request["name"]
        subs = [(f"{name}/{sub['name']}", sub) for sub in request.get("firstAvailable", [])]
        requests.append(
            tuple(
                _asked(sub, [n for n, (covered, _) in enumerate(constraints) if covered & {name, full}], selected)
                for full, sub in subs or [(name, request["exactly"])]
            )
        )
    return Claim(
        tuple(requests),
        tuple("firstAvailable" in request for request in devices["requests"]),
        tuple(Rule(_classes(attribute, known)) for _, attribute in constraints),
    )


def _asked(sub: Mapping[str, Any], rules: Sequence[int], selected: Mapping[str, int]) -> Asked:
    expressions = tuple(selector["cel"]["expression"] for selector in sub.get("selectors", []))
    open_to = -1
    for expression in expressions:
        open_to &= selected[expression]
    return Asked(sub["count"], open_to, expressions, tuple(rules))


def _classes(attribute: str, known: Sequence[Mapping[str, Value]]) -> tuple[int, ...]:
    found: dict[Value, int] = {}
    for position, values in enumerate(known):
        if attribute in values:
            found[values[attribute]] = found.get(values[attribute], 0) | 1 << position
    return tuple(found.values())


def work(claim: Claim, free: int) -> Work:
    """All that is done until the claim fits or cannot, when these devices are free."""
    return _Run(claim, free).done


@dataclass
class _Run:
    """One search, depth first, as the allocator goes about it."""

    claim: Claim
    free: int
    done: Work = field(default_factory=Work)

    def __post_init__(self) -> None:
        self._remembered: set[tuple[int, int, int]] = set()
        self.done.fits = self._request(0, self.free, (0,) * len(self.claim.rules))
        # Where fewer are kept than are in use, each is gone again before its turn comes.
        self.done.compiled = self.claim.expressions if self.claim.expressions > CACHED else 0

    def _request(self, number: int, free: int, settled: tuple[int, ...]) -> bool:
        if number == len(self.claim.requests):
            self.done.calls += 2
            return True
        self.done.calls += 1 if self.claim.listed[number] else 0
        return any(
            self._device(number, which, asked, asked.count, 0, free, settled)
            for which, asked in enumerate(self.claim.requests[number])
        )

    def _device(
        self, number: int, which: int, asked: Asked, missing: int, start: int, free: int, settled: tuple[int, ...]
    ) -> bool:
        self.done.calls += 1
        if not missing:
            return self._request(number + 1, free, settled)
        for position in _positions(free >> start << start):
            if not self._lets_in(number, which, asked, position):
                continue
            now = self._joined(asked, 1 << position, settled)
            if now is not None and self._device(
                number, which, asked, missing - 1, position + 1, free & ~(1 << position), now
            ):
                return True
        return False

    def _lets_in(self, number: int, which: int, asked: Asked, position: int) -> bool:
        key = (number, which, position)
        if key not in self._remembered:
            self._remembered.add(key)
            self.done.classes += 1
            self.done.selectors += len(asked.expressions)
        return bool(asked.open_to >> position & 1)

    def _joined(self, asked: Asked, bit: int, settled: tuple[int, ...]) -> tuple[int, ...] | None:
        now = list(settled)
        for rule in asked.rules:
            self.done.checks += 1
            inside = now[rule] or next((c for c in self.claim.rules[rule].classes if c & bit), 0)
            if not inside & bit:
                return None
            now[rule] = inside
        return tuple(now)


def _positions(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
