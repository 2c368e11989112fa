"""Whatever stands in an object, every rule judges it or passes it over: never a traceback."""

from __future__ import annotations

from random import Random

import pytest
import yaml

from policy.rules.catalogue import RULES
from policy.rules.fleet import declared
from policy.rules.model import Subject
from policy.rules.run import judge
from policy.rules.surroundings import surround
from settings.capabilities import Capabilities
from settings.servers import find_server
from tests.mutated import mutated
from topology.profiles import OPENFUYAO

EXAMPLES = [
    [one for one in yaml.safe_load_all(example.text) if isinstance(one, dict)]
    for rule in RULES
    for example in (rule.complies, rule.violates)
]


@pytest.mark.parametrize("seed", range(4))
def test_odd_values_break_no_rule(seed: int) -> None:
    fleet = declared([find_server("310p3")], OPENFUYAO)
    random = Random(seed)
    for _ in range(250):
        objects = mutated(random.choice(EXAMPLES), random)
        subjects = [Subject(one, str(number)) for number, one in enumerate(objects)]
        context = surround(subjects, random.choice((None, fleet)), random.choice((None, Capabilities("1.36", {}))))
        for rule in RULES:
            for subject in subjects:
                judge(rule, subject, context)
