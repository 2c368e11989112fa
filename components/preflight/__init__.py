"""Whether a host can run confidential containers: a script that gathers facts on it, and a judge of them elsewhere."""
