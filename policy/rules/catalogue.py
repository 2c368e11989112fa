"""Every rule, in the order of the docs."""

from __future__ import annotations

from collections.abc import Iterable

from policy.rules import claims, confidential, driver, general
from policy.rules.model import Group, Rule

RULES: tuple[Rule, ...] = (*claims.RULES, *driver.RULES, *confidential.RULES, *general.RULES)


def of(groups: Iterable[Group]) -> tuple[Rule, ...]:
    """The rules of some groups."""
    wanted = set(groups)
    return tuple(rule for rule in RULES if rule.group in wanted)
