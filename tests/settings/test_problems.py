"""A wrong stack file is told by key, with the reason and the remedy, before anything is created."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from settings.errors import SettingsError
from settings.load import read
from tests.settings.files import GONE, stack_file

KEYS = "ringfence:cluster, ringfence:ring, ringfence:fence"
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "problems.yaml").read_text())


def changes(case: dict[str, Any]) -> dict[str, Any]:
    return {**case.get("change", {})} | dict.fromkeys(case.get("remove", []), GONE)


@pytest.mark.parametrize("case", CASES, ids=[f"{i} {case['says'].split(': ')[0]}" for i, case in enumerate(CASES)])
def test_a_wrong_file_says_which_key_why_and_what_instead(tmp_path: Path, case: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, changes(case)))
    assert case["says"] == str(caught.value).splitlines()[1].strip(), "the line below the heading"
    assert str(caught.value).startswith("Pulumi.test.yaml cannot be used:\n"), "it names the file to correct"


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    wrong = {"cluster.version": "1.33", "ring.relaxed": "yes", "ring.driver.image": "npu"}
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, wrong))
    assert len(caught.value.problems) == 3, "one run for each problem would be a poor way to find them"


def test_a_misspelt_key_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, {"cluster.contxt": "x", "cluster.context": GONE}))
    assert len(caught.value.problems) == 1, "that context is missing then says the same again"


def test_no_message_is_pydantics_own(tmp_path: Path) -> None:
    for case in CASES:
        with pytest.raises(SettingsError) as caught:
            read(stack_file(tmp_path, changes(case)))
        assert "pydantic" not in str(caught.value)
        assert "type=" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("config: [", "line 1: is no YAML. Correct it there."),
        (
            "name: x",
            "config: is missing. Write config: with keys ringfence:cluster, ringfence:ring, ringfence:fence below.",
        ),
        ("", "config: is missing. Write config: with keys ringfence:cluster, ringfence:ring, ringfence:fence below."),
    ],
)
def test_a_file_that_is_no_stack_file_is_told_as_such(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "Pulumi.test.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"Pulumi\.test\.yaml cannot be used") as caught:
        read(path)
    assert str(caught.value.problems[0]) == line


def test_a_missing_file_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read(tmp_path / "Pulumi.none.yaml")
