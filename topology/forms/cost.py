"""What a form costs: at worst, over all states of its server, and as a rule, where the claim fits.

The worst is counted in entries of the allocator's inner function and climbed to: from states in which groups are a
little short of what is asked, to the neighbour (one or two NPUs more or fewer free) that costs most, until none costs
more. The proof then looks at every state; a test holds the two to each other.

The common cost is what the scheduler spends on an idle and on lightly used servers, against a claim of the same count
without constraints. Its units are milliseconds of Filter for a pod on a hundred servers of 16 NPUs, as the real
scheduler v1.37.2 took them on two cores (docs/bench.md): 33.9 for `count: 12`, 68.7 for six pairs, 89.9 with a window
each, 216 for twelve requests with a window each, past the cache. The weights below
give these and six more to a quarter; a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from topology.forms.states import State
from topology.forms.work import Claim, Work, work
from topology.search import Search

BASE = 7.0
CLASS = 2.2
SELECTOR = 0.6
CALL = 0.15
CHECK = 0.05
COMPILE = 10.0


def weighed(done: Work) -> float:
    """Milliseconds, by the measure above."""
    return (
        BASE
        + CLASS * done.classes
        + SELECTOR * done.selectors
        + CALL * done.calls
        + CHECK * done.checks
        + COMPILE * done.compiled
    )


CLIMBED = 16
"""NPUs of a server up to which the worst state is climbed to; larger ones are not proven either."""


def common(claim: Claim, plain: Claim, states: Sequence[State]) -> float:
    """What the claim costs, as a multiple of `plain`, the same count without constraints; idle counts as one half."""
    idle, *others = (weighed(work(claim, state)) / weighed(work(plain, state)) for state in states)
    return (idle + sum(others) / len(others)) / 2 if others else idle


def worst(search: Search, starts: Iterable[State], npus: int, enough: int | None = None) -> int:
    """Entries of the inner function in the worst state that is found; past `enough` it is not looked for further."""
    most = 0
    for start in starts:
        state, calls = start, search.run(start).calls
        while True:
            most = max(most, calls)
            if enough is not None and most > enough:
                return most
            near = _near(state, npus) if npus <= CLIMBED else ()
            best = max(((search.run(other).calls, -other) for other in near), default=(0, 0))
            if best[0] <= calls:
                break
            calls, state = best[0], -best[1]
    return most


def _near(state: State, npus: int) -> Iterator[State]:
    for a in range(npus):
        yield state ^ 1 << a
        for b in range(a):
            yield state ^ 1 << a ^ 1 << b
