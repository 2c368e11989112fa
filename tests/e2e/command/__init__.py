"""A stand-in for the provider `command`, and a program for it."""
