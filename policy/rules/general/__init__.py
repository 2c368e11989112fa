"""Rules on whatever is deployed."""

from policy.rules.general import images, resources, secrets

RULES = (*resources.RULES, *images.RULES, *secrets.RULES)
