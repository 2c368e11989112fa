"""docs/rules.md is what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from policy.docs import markdown
from policy.rules.catalogue import RULES

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_the_catalogue() -> None:
    assert PAGE.read_text() == markdown(), "write it anew with `make docs` and read the difference"


def test_every_rule_is_on_it_with_its_examples() -> None:
    page = PAGE.read_text()
    for rule in RULES:
        assert f"### {rule.id}\n" in page
        assert rule.complies.text.rstrip() in page
        assert rule.violates.text.rstrip() in page
