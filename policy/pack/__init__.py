"""The rules as a Pulumi policy pack: what the engine hands over, made plain, and what is found, told at the right "
"level."""
