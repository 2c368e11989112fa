"""On random worlds `claims check` and `claims allocate` never contradict each other."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from policy.rules.catalogue import of
from policy.rules.find import CLASS
from policy.rules.fleet import dumped
from policy.rules.model import Environment, Group, Level, Subject
from policy.rules.run import judge, weight
from policy.rules.surroundings import surround
from settings.capabilities import Capabilities
from tests.topology.random_claims import make
from topology.allocator import VERSIONS, Allocated, Malformed, TooLong, Unmodelled, allocate, read_world

# These speak of what may happen on other nodes, with other devices, or on a cluster that drops a field.
_ELSEWHERE = {"worst-case", "cel-driver-guard", "cel-existence", "dropped-field", "admin-access"}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6), st.sampled_from(("1.35", "1.37")))
def test_what_the_scheduler_gives_is_no_error_and_what_it_never_gives_is_not_passed_over(
    seed: int, version: str
) -> None:
    case = make(seed, version)
    claim, node = case.claims[0], {"apiVersion": "v1", **case.node}
    around = [*case.slices, *case.classes, node]
    try:
        world = read_world([*around, claim])
        outcome = allocate(world, world.nodes[0], world.claims, VERSIONS[version], 20_000)
        fleet = dumped(around)
    except (Malformed, Unmodelled, TooLong):
        assume(False)
        raise
    assume(len(fleet.world.nodes) == 1)
    objects = [Subject(one, str(number)) for number, one in enumerate([*case.classes, claim])]
    context = surround(objects, fleet, Capabilities(version, {}))  # type: ignore[arg-type]
    found = [
        (rule.id, weight(rule, finding, Environment.PROD), finding)
        for subject in objects
        for rule in of([Group.CLAIMS])
        for finding in judge(rule, subject, context).findings
        if subject.kind != CLASS or rule.id.startswith("cel-")
    ]
    errors = [one for one in found if one[1] is Level.ERROR]
    if isinstance(outcome, Allocated):
        assert not [one for one in errors if one[0] not in _ELSEWHERE], (errors, outcome)
    else:
        assert errors or any(level is Level.NOTE for _, level, _ in found), outcome
