"""The command takes previews and ready-made reports, and says in one line what it cannot take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.preview.reading import PreviewError, read_preview
from tests.policy.preview.previews import digest, events, named, step
from tests.policy.preview.recording import RECORDED
from tests.policy.preview.reports import report, run

WHOLE = events(step("create", "Widget", None, named("w")))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("error: could not get stack: hunter2", "has pulumi's error in place of JSON"),
        ('{"steps": [{"op": "cre', "breaks off or is no JSON at line 1"),
        (WHOLE[:-40], "breaks off"),
        (WHOLE.rpartition('{"sequence"')[0], "breaks off before pulumi's summary"),
        ("[1]", "has text in place of JSON"),
        ('{"a": 1}', "neither steps nor events"),
        ('{"steps":' * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_no_preview_ends_with_2_and_one_clear_error(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(PreviewError, match=says):
        read_preview(text)
    file = tmp_path / "preview.json"
    file.write_text(text)
    done = run(f"s={file}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    "odd",
    [
        {"steps": None},
        {"steps": [1, {"op": 3}, {"op": "create", "urn": "x"}]},
        {
            "steps": [
                {
                    "op": "update",
                    "urn": "urn:pulumi:s::p::kubernetes:core/v1:Secret::x",
                    "oldState": None,
                    "newState": {"inputs": 7},
                    "detailedDiff": {"": 1, "a[": 2},
                }
            ],
            "new": True,
        },
    ],
)
def test_unknown_fields_and_odd_values_do_not_stop_it(odd: dict[str, Any]) -> None:
    assert report(json.dumps(odd))


@pytest.mark.parametrize(
    "words", [["s"], ["=x"], ["s="], ["s=/nowhere"], ["s=-", "s=-"], ["s=-", "--base", "/nowhere"]]
)
def test_a_wrong_argument_ends_with_2(words: list[str]) -> None:
    done = run(*words, input=digest())
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_a_report_made_where_the_preview_ran_is_taken_as_it_is(tmp_path: Path) -> None:
    """So that the preview itself, in which there are secrets, need not leave its job."""
    made = tmp_path / "a.md"
    assert run(f"a={RECORDED / 'kinds.events.json'}", "--out", str(made)).exit_code == 0
    together = run("b=-", f"a={made}", input=digest())
    alone = run(f"a={RECORDED / 'kinds.events.json'}", "b=-", input=digest())
    assert together.stdout == alone.stdout
