"""The policy pack. The rules are plain functions; only `__main__.py` starts a server."""
