"""A failed pulumi is told by its reasons."""

from __future__ import annotations

from sandbox import diagnostics

EXPORTS = "    a: 1\n" * 99
SAID = f"Updating (dev):\n\nDiagnostics:\n  Stack (x):\n    error: no\n\nOutputs:\n{EXPORTS}Resources:\n    1 errored"


def test_of_a_long_output_the_diagnostics_are_told_and_not_what_was_exported() -> None:
    assert diagnostics.of(SAID) == ["  Stack (x):", "    error: no", ""], "the last 40 lines would be exports only"


def test_those_of_a_destroy_come_after_those_of_its_preview() -> None:
    preview = "Diagnostics:\n  Stack (x):\n    warning: old\n\nResources:\n    - 1\n\n"
    assert diagnostics.of(f"{preview}Destroying (dev):\n\nDiagnostics:\n    error: no") == [
        "  Stack (x):",
        "    warning: old",
        "",
        "    error: no",
    ]


def test_what_a_policy_found_is_among_them() -> None:
    said = (
        "Policies:\n    pack@v1 (local)\n        no red things\n\nDiagnostics:\n  Stack (x):\n    error: preview failed"
    )
    assert "        no red things" in diagnostics.of(said)


def test_before_pulumi_has_begun_all_that_it_says_is_told() -> None:
    assert diagnostics.of("error: no stack\n") == ["error: no stack"]
