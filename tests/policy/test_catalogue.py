"""Every rule: its examples really pass through it, and it trips over nothing that an object may be instead."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from policy.rules.catalogue import RULES
from policy.rules.context import Context
from policy.rules.examples import read
from policy.rules.model import Environment, Example, Finding, Level, Rule, Subject
from policy.rules.run import judge, weight
from policy.rules.view import UNKNOWN, Path

EVERY = pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])

Found = list[tuple[Subject, Finding]]


def found(rule: Rule, example: Example) -> Found:
    """What the rule finds in any object of an example, notes left out."""
    subjects, context = read(example)
    return [
        (subject, finding)
        for subject in subjects
        for finding in judge(rule, subject, context).findings
        if weight(rule, finding, Environment.PROD) is not Level.NOTE
    ]


def proven(rule: Rule) -> bool:
    """Whether a rule does what it says: silent on what complies, not silent on what does not."""
    return not found(rule, rule.complies) and bool(found(rule, rule.violates))


@EVERY
def test_the_example_that_complies_does_and_the_other_does_not(rule: Rule) -> None:
    assert not found(rule, rule.complies)
    assert found(rule, rule.violates)


@EVERY
def test_a_rule_that_finds_nothing_or_everything_is_found_out(rule: Rule) -> None:
    """The examples are what holds a rule: with its function gone wrong either way, the test above is red."""
    blind = replace(rule, check=lambda subject, context: ())
    everywhere = replace(rule, check=lambda subject, context: [Finding((), "This is wrong.", "Write it right.")])
    assert not proven(blind)
    assert not proven(everywhere)
    assert proven(rule)


@EVERY
def test_a_finding_says_what_why_and_what_instead_and_where(rule: Rule) -> None:
    for subject, finding in found(rule, rule.violates):
        assert finding.says.endswith((".", "…")), finding.says
        assert finding.instead, "what to write instead"
        here: Any = subject.manifest
        for step in finding.path[:-1]:
            here = here[step]
        assert "\n" not in str(finding), "one line: it goes into annotations and diagnostics"


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every value in an object, the object itself left out."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*path, key)
        yield from places(child, (*path, key))


GONE = object()


def changed(manifest: Mapping[str, Any], path: Path, value: Any) -> Mapping[str, Any]:
    """A copy with something else at a place; GONE removes it."""
    made = copy.deepcopy(dict(manifest))
    here: Any = made
    for step in path[:-1]:
        here = here[step]
    if value is GONE:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return made


def with_other(rule: Rule, value: Any) -> Iterator[tuple[Path, Subject, Context]]:
    """Every object of both examples with one place in it changed, among the other objects."""
    for example in (rule.complies, rule.violates):
        subjects, context = read(example)
        for index, subject in enumerate(subjects):
            for path in places(subject.manifest):
                if len(path) > 7:
                    # Deeper there is nothing but more of the same.
                    continue
                other = replace(subject, manifest=changed(subject.manifest, path, value))
                others = (*subjects[:index], other, *subjects[index + 1 :])
                yield path, other, replace(context, objects=others)


@EVERY
@pytest.mark.parametrize(
    "value", [GONE, None, 7, "text", [], {}, [None], True], ids=lambda value: "gone" if value is GONE else repr(value)
)
def test_no_rule_trips_over_what_is_missing_null_or_of_another_type(rule: Rule, value: Any) -> None:
    for path, subject, context in with_other(rule, value):
        try:
            judge(rule, subject, context)
        except Exception as error:
            raise AssertionError(f"{path} of {subject}: {error!r}") from error


@EVERY
def test_what_is_not_known_yet_is_never_a_violation_by_itself(rule: Rule) -> None:
    """With one value unknown, no rule finds in an object that complies what it would not find in it when known."""
    subjects, context = read(rule.complies)
    for index, subject in enumerate(subjects):
        for path in places(subject.manifest):
            if path[0] in ("apiVersion", "kind") or path == ("metadata",):
                continue
            other = replace(subject, manifest=changed(subject.manifest, path, UNKNOWN))
            others = (*subjects[:index], other, *subjects[index + 1 :])
            for one in others:
                for finding in judge(rule, one, replace(context, objects=others)).findings:
                    assert weight(rule, finding, Environment.PROD) is Level.NOTE, f"{path}: {finding}"


@EVERY
def test_what_would_have_been_needed_and_is_not_known_is_told(rule: Rule) -> None:
    """Somewhere in the example that does not comply is a value without which nothing can be decided: it is named."""
    subjects, context = read(rule.violates)
    needed = []
    for index, subject in enumerate(subjects):
        for path in places(subject.manifest):
            other = replace(subject, manifest=changed(subject.manifest, path, UNKNOWN))
            others = (*subjects[:index], other, *subjects[index + 1 :])
            verdicts = [judge(rule, one, replace(context, objects=others)) for one in others]
            if not any(verdict.findings for verdict in verdicts):
                needed.append(any(verdict.undecided for verdict in verdicts))
    decided_by_options_alone = {
        "explicit-provider",
        "protected",
        "custom-resource-order",
        "api-version",
        "replaced-not-updated",
        "cc-runtime-replaced",
    }
    assert any(needed) or rule.id in decided_by_options_alone


@EVERY
def test_other_kinds_are_none_of_its_business(rule: Rule) -> None:
    for manifest in (
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}]}},
        {"apiVersion": "example.com/v1", "kind": "ResourceClaim", "metadata": {"name": "x"}, "spec": {"devices": 1}},
        {},
    ):
        assert not judge(rule, Subject(manifest), Context()).findings


SECRET = "hunter2-" + "s3cr3t" * 3


@EVERY
def test_no_secret_is_ever_echoed(rule: Rule) -> None:
    """Rules see secrets in the clear, and their sentences reach pull requests."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"},
        "data": {"password": SECRET},
        "stringData": {"token": SECRET},
    }
    config = {**secret, "kind": "ConfigMap", "data": {"password": SECRET, "url": f"https://u:{SECRET}@host/"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "registry.example/c:1",
                    "args": [f"--token={SECRET}"],
                    "env": [{"name": "API_KEY", "value": SECRET}],
                }
            ]
        },
    }
    subjects = [Subject(one, str(index)) for index, one in enumerate((secret, config, pod))]
    for subject in subjects:
        for finding in judge(rule, subject, Context(tuple(subjects))).findings:
            assert SECRET not in str(finding)
            assert "hunter2" not in str(finding)


def test_ids_are_distinct_and_can_be_names_of_policies() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", id) for id in ids)
    assert not {"all", "declared", "advice", "advice-on-stack"} & set(ids), "taken by Pulumi and by the pack"


def test_nothing_is_an_error_in_dev() -> None:
    assert all(rule.dev is not Level.ERROR for rule in RULES)
