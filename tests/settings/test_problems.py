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
        (
            "config: [",
            "line 1: cannot be read: expected the node content, but found '<stream end>'. Correct it there.",
        ),
        (
            "config:\n  ringfence:cluster:\n    context: a\n    context: b\n",
            "line 4: cannot be read: context is there already, in line 3. Correct it there.",
        ),
        (
            "config:\n  ringfence:ring: {}\n  ringfence:ring: {}\n",
            "line 3: cannot be read: ringfence:ring is there already, in line 2. Correct it there.",
        ),
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


SEEN = "correct-Horse battery"


@pytest.mark.parametrize(
    "fence",
    [
        {"preflight": {"hosts": {"a": {"address": "a", "hostKey": "ssh-ed25519 A", "privateKey": SEEN}}}},
        {"preflight": {"hosts": {"a": {"address": "a", "hostKey": "ssh-ed25519 A", "privateKey": {"secure": SEEN}}}}},
        {"kbs": {"adminPublicKey": SEEN}},
        {"kbs": {"tls": {"key": [SEEN]}}},
        {"kbs": {"resources": {"tenant-a": SEEN}}},
        {"kbs": {"resources": {"tenant-a": [SEEN]}}},
        {"kbs": {"resources": {"tenant-a": {"image-key": SEEN}}}},
        {"kbs": {"resources": {"tenant-a": {"image-key": {"secret": SEEN}}}}},
        {"workloads": {"env": {"TOKEN": SEEN}}},
        {"workloads": [{"env": [{"name": "TOKEN", "value": SEEN}]}]},
    ],
)
def test_what_stands_where_a_secrets_name_belongs_is_not_repeated(tmp_path: Path, fence: dict[str, Any]) -> None:
    """It is most likely the secret, and what is said here ends up in the log of a pipeline."""
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, {"fence": fence}))
    assert SEEN not in str(caught.value)


def test_a_list_of_wrong_entries_is_not_called_empty_too(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, {"fence": {"kbs": {"referenceValues": [{"values": ["ABC"]}]}}}))
    about = [one for one in caught.value.problems if ".values" in one.key]
    assert [one.key for one in about] == ["ringfence:fence.kbs.referenceValues[0].values[0]"]


@pytest.mark.parametrize("written", ["2035-12-31T00:00:00Z", "2035-12-31"])
def test_a_moment_without_quotes_is_told_to_lack_them(tmp_path: Path, written: str) -> None:
    path = stack_file(tmp_path, {"fence": {"kbs": {"referenceValues": [{"expiration": "WHEN"}]}}})
    path.write_text(path.read_text().replace("WHEN", written))
    with pytest.raises(SettingsError) as caught:
        read(path)
    assert (
        "referenceValues[0].expiration: has no quotes, and is no text without them. "
        'Write it as "2027-01-31T00:00:00Z", in quotes.'
    ) in str(caught.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "has no value. Write virtcca or default."),
        (True, "is true. Write virtcca or default."),
        ({"virtcca": 1}, "is a mapping. Write virtcca or default."),
        ([], "is a list without entries. Write virtcca or default."),
    ],
)
def test_a_value_is_called_what_it_is_in_the_file(tmp_path: Path, value: Any, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, {"fence": {"ccRuntime": {"preset": value}}}))
    assert f"ringfence:fence.ccRuntime.preset: {says}" in str(caught.value)
