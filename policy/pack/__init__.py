"""The rules as a Pulumi policy pack: what the engine hands over made plain, what is found told at its level."""
