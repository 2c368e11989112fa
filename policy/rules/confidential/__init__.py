"""Rules on confidential containers. None yet: they are added here as the other groups' are."""

from policy.rules.model import Rule

RULES: tuple[Rule, ...] = ()
