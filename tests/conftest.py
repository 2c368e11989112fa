"""The same tests in every run: what is drawn at random is drawn alike, and time is no matter.

To look further than the fixed cases: `.venv/bin/pytest --hypothesis-profile=default`, which never draws the same twice.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
