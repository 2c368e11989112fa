"""Putting a rule to an object."""

from __future__ import annotations

from dataclasses import dataclass, replace

from policy.rules.context import Context
from policy.rules.model import Environment, Finding, Level, Rule, Subject
from policy.rules.view import Path

_WEIGHT = {Level.NOTE: 0, Level.WARNING: 1, Level.ERROR: 2}


@dataclass(frozen=True)
class Verdict:
    """undecided: paths of values that the rule needed and that are not known yet."""

    findings: tuple[Finding, ...]
    undecided: tuple[Path, ...]


def judge(rule: Rule, subject: Subject, context: Context) -> Verdict:
    """What the rule finds in the object. Values that are unknown silence nothing but what rests on them."""
    fresh = replace(subject, unknowns=[])
    findings = tuple(dict.fromkeys(rule.check(fresh, context)))
    return Verdict(findings, tuple(dict.fromkeys(fresh.unknowns)))


def weight(rule: Rule, finding: Finding, environment: Environment) -> Level:
    """The rule's level there, or the finding's own where that is less."""
    level = rule.level(environment)
    if finding.level is not None and _WEIGHT[finding.level] < _WEIGHT[level]:
        return finding.level
    return level
