"""A failed pulumi is told by its reasons."""

from __future__ import annotations

from sandbox import diagnostics


def test_of_a_long_output_the_diagnostics_are_told_and_not_what_was_exported() -> None:
    said = (
        "Updating (dev):\n\nDiagnostics:\n  pulumi:pulumi:Stack (x):\n    error: no\n\nOutputs:\n" + "    a: 1\n" * 99
    )
    told = diagnostics.of(said + "Resources:\n    1 errored")
    assert told == ["  Stack (x):", "    error: no", ""], "the last 40 lines would be exports only"


def test_before_pulumi_has_begun_all_that_it_says_is_told() -> None:
    assert diagnostics.of("error: no stack\n") == ["error: no stack"]
