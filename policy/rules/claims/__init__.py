"""Rules on claims, and on what is said of devices: anyone's, whatever the driver."""

from policy.rules.claims import attributes, cel, classes, dropped, modes, names, outcome, pods, shape

RULES = (
    *shape.RULES,
    *names.RULES,
    *attributes.RULES,
    *cel.RULES,
    *classes.RULES,
    *outcome.RULES,
    *modes.RULES,
    *dropped.RULES,
    *pods.RULES,
)
