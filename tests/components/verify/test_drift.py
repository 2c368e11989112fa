"""What counts as a difference between an object and its declaration."""

from __future__ import annotations

from typing import Any

import pytest

from components.verify.drift import differences


@pytest.mark.parametrize(
    ("declared", "live"),
    [
        ({"a": 1}, {"a": 1, "tdxConfigSpec": {}, "list": [], "none": None}),
        ({"debug": False}, {}),
        ({"config": {"debug": False}}, {}),
        ({"a": {"b": {}}}, {"a": {}}),
        ({"a": ("x",)}, {"a": ["x"]}),
    ],
)
def test_what_an_operator_writes_or_leaves_out_when_it_writes_back_is_none(declared: Any, live: Any) -> None:
    assert differences(declared, live) == []


@pytest.mark.parametrize(
    ("declared", "live", "wanted"),
    [
        ({"image": "a"}, {"image": "b"}, ["image is b, not a"]),
        ({"c": {"image": "a"}}, {}, ["c.image is missing"]),
        ({}, {"debug": True}, ["debug is True, and nothing is declared"]),
        ({"labels": {"worker": ""}}, {"labels": {"worker": "yes"}}, ["labels.worker is yes, not ''"]),
        (
            {"labels": {"worker": ""}},
            {"labels": {"other": ""}},
            ["labels.other is '', and nothing is declared", "labels.worker is missing"],
        ),
        ({"classes": [{"n": "a"}]}, {"classes": [{"n": "b"}]}, ["classes[0].n is b, not a"]),
        ({"classes": ["a"]}, {"classes": ["a", "b"]}, ["classes is a list of 2, not a list of 1"]),
    ],
)
def test_everything_else_is_told_with_its_path(declared: Any, live: Any, wanted: list[str]) -> None:
    assert differences(declared, live) == wanted
