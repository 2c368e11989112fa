"""The search itself: allocateOne of allocator_incubating.go, call for call.

Written for speed, as closures over plain lists: it is run for every state of fragmentation of a server.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from topology.allocator.constraints import Match, State
from topology.allocator.errors import SchedulerError, TooLong
from topology.allocator.prepare import (
    ALTERNATIVES,
    CLAIM,
    END,
    MAX_DEVICES,
    Preparation,
    Prepared,
    Special,
    Spot,
    Values,
)
from topology.allocator.shared import Shared
from topology.allocator.versions import Version

_FAILED, _DONE, _EXCEEDED = range(3)
"""What a call came to. Exceeded: more than a claim may hold, so other devices for the same requests would not help."""

_TAKEN = 1
"""In what holds a device, the bit for claims allocated before; those of this attempt have the bits above it."""


@dataclass
class Found:
    """given: for each claim, request and device in the order in which they were chosen; None if there is no solution.

    calls: of allocateOne.
    """

    given: list[list[tuple[str, Spot]]] | None
    calls: int


class Failed(Exception):  # noqa: N818
    """A SchedulerError during the search, and the calls until then."""

    def __init__(self, error: SchedulerError, calls: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.calls = calls


def search(  # noqa: PLR0915 - closures over the same state, in one piece because that is what makes them fast
    made: Preparation, shared: Shared, claims: int, version: Version, limit: int
) -> Found:
    """Look for devices for all claims. limit: TooLong after so many calls. Failed for an error of the scheduler's."""
    steps, spots = made.steps, made.spots
    held = [_TAKEN if spot.id in shared.whole else 0 for spot in spots]
    given: list[list[tuple[Prepared, int]]] = [[] for _ in range(claims)]
    combinations = version.combinations
    calls = 0

    def begin(at: int) -> int:
        nonlocal calls
        kind, alternatives = steps[at]
        if kind == CLAIM:
            calls += 1
            outcome = begin(at + 1)
            return _FAILED if outcome == _EXCEEDED else outcome
        if kind == END:
            calls += 1
            return _DONE
        if kind != ALTERNATIVES:
            return place(alternatives[0], 0, 0)
        calls += 1
        exceeded = True
        for subrequest in alternatives:
            outcome = place(subrequest, 0, 0)
            if outcome == _EXCEEDED:
                continue
            exceeded = False
            if outcome == _DONE:
                return _DONE
        return _EXCEEDED if exceeded else _FAILED

    def place(request: Prepared, placed: int, start: int) -> int:
        """One call of allocateOne for a request's next device: `placed` it has, candidates from `start` on are left."""
        nonlocal calls
        calls += 1
        if calls > limit:
            raise TooLong(calls)
        everything = request.request.all
        if everything and not request.wanted:
            return _FAILED
        count = request.count
        if placed >= count:
            return begin(request.next)
        mine = given[request.claim]
        if count - placed > MAX_DEVICES - len(mine):
            return _EXCEEDED
        if everything:
            return place_wanted(request, placed)
        candidates = request.candidates
        if candidates is None:
            candidates = made.candidates(request)
        bit = _TAKEN << (request.claim + 1)
        # Admin access shares a device with anyone but the same claim.
        busy = bit if request.request.admin else -1
        states = request.states
        single = states[0] if len(states) == 1 and isinstance(states[0], Match) else None
        following = placed + 1
        for index in range(start, len(candidates)):
            number, values, special = candidates[index]
            if special is not None:
                outcome = place_special(request, index, following, number, values, special, busy, bit)
                if outcome != _FAILED:
                    return outcome
                continue
            if held[number] & busy:
                continue
            if single is not None:
                value = values[0]
                if single.count:
                    if single.value != value:
                        continue
                else:
                    single.value = value
                single.count += 1
            elif states and not join(states, request.base, values):
                continue
            held[number] |= bit
            mine.append((request, number))
            outcome = place(request, following, index + 1 if combinations else 0)
            if outcome == _DONE:
                return _DONE
            mine.pop()
            held[number] &= ~bit
            if single is not None:
                single.count -= 1
            elif states:
                leave(states, request.base)
            if outcome == _EXCEEDED:
                return _EXCEEDED
        return _FAILED

    def place_special(
        request: Prepared,
        index: int,
        following: int,
        number: int,
        values: Values,
        special: Special,
        busy: int,
        bit: int,
    ) -> int:
        if special.error is not None:
            if number >= 0 and held[number] & busy:
                return _FAILED
            raise special.error
        if held[number] & busy:
            return _FAILED
        undo = take_special(special, bit)
        if undo is None:
            return _FAILED
        if request.states and not join(request.states, request.base, values):
            undo()
            return _FAILED
        mine = given[request.claim]
        mine.append((request, number))
        outcome = place(request, following, index + 1 if combinations else 0)
        if outcome == _DONE:
            return _DONE
        mine.pop()
        leave(request.states, request.base)
        undo()
        return outcome

    def place_wanted(request: Prepared, placed: int) -> int:
        """The next device of a request for all: this one or none."""
        spot, values, special = request.wanted[placed]
        bit = _TAKEN << (request.claim + 1)
        if held[spot.number] & (bit if request.request.admin else -1):
            return _FAILED
        counted = special is not None and shared.must_count(spot.id, spot.device)
        if counted and not shared.reserve(spot.pool, spot.device):
            return _FAILED
        fits = not made.tainted(request, spot)
        if fits and not join(request.states, request.base, values):
            raise SchedulerError(
                f"request {request.name}: cannot add device {'/'.join(spot.id)} because a claim constraint would not "
                "be satisfied"
            )
        if counted:
            shared.release(spot.pool, spot.device)
        if not fits:
            return _FAILED
        # Counters and capacity are taken together here: only now is it known that both are there.
        undo = take_special(special, bit) if special is not None else take(spot.number, bit)
        if undo is None:
            leave(request.states, request.base)
            return _FAILED
        mine = given[request.claim]
        mine.append((request, spot.number))
        following = request.following
        assert following is not None
        outcome = place(following, placed + 1, 0)
        if outcome == _DONE:
            return _DONE
        mine.pop()
        leave(request.states, request.base)
        undo()
        return outcome

    def take(number: int, bit: int) -> Callable[[], None]:
        held[number] |= bit

        def undo() -> None:
            held[number] &= ~bit

        return undo

    def take_special(special: Special, bit: int) -> Callable[[], None] | None:
        """Counters, capacity and the device itself; None if one of them is not to be had."""
        spot, amounts = special.spot, special.amounts
        assert spot is not None
        assert amounts is not None
        if not shared.fits(spot.id, amounts, spot.device.capacity):
            return None
        counted = shared.must_count(spot.id, spot.device)
        if counted and not shared.reserve(spot.pool, spot.device):
            return None
        existed = shared.insert(spot.id, amounts) if spot.device.shareable else False
        if not spot.device.shareable:
            held[spot.number] |= bit

        def undo() -> None:
            if spot.device.shareable:
                shared.remove(spot.id, amounts, existed)
            else:
                held[spot.number] &= ~bit
            if counted:
                shared.release(spot.pool, spot.device)

        return undo

    deepest = sum(max((one.count for one in alternatives), default=0) + 1 for _, alternatives in steps)
    recursion = sys.getrecursionlimit()
    sys.setrecursionlimit(max(recursion, 1000 + 4 * min(deepest, (MAX_DEVICES + 1) * claims + 2 * len(steps))))
    try:
        outcome = begin(0)
    except SchedulerError as error:
        raise Failed(error, calls) from error
    finally:
        sys.setrecursionlimit(recursion)
    if outcome == _EXCEEDED:
        # Nobody above the first claim takes it for what it is, so it comes out as an error like any other.
        raise Failed(SchedulerError("allocation max size exceeded"), calls)
    if outcome != _DONE:
        return Found(None, calls)
    return Found([[(request.name, spots[number]) for request, number in one] for one in given], calls)


def join(states: tuple[State, ...], request: str, values: Values) -> bool:
    """All constraints take the device, or none does."""
    for index, state in enumerate(states):
        value = values[index]
        if value is None or not state.add(request, value):
            leave(states[:index], request)
            return False
    return True


def leave(states: tuple[State, ...], request: str) -> None:
    for state in reversed(states):
        state.remove(request)
