"""Rules on drivers and DeviceClasses as they are deployed."""

from policy.rules.driver import pods, resources, rights

RULES = (*resources.RULES, *pods.RULES, *rights.RULES)
