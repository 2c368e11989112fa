"""Findings as text, as GitHub's annotations, as data and as SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from policy.lint.check import Problem
from policy.rules.model import Environment, Level, Rule

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def line_of(problem: Problem) -> str:
    """file:line: error: sentence [rule]"""
    where = f"{problem.source}:{problem.line}" if problem.line is not None else problem.source
    return f"{where}: {problem.level}: {problem.object}: {problem.sentence} [{problem.rule}]"


def data_of(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [{**asdict(problem), "level": str(problem.level)} for problem in problems]


def annotation_of(problem: Problem) -> str:
    """A GitHub workflow command; what would end a value or the line is escaped as it wants it."""
    kind = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}[problem.level]
    properties = {"file": problem.source, "line": problem.line, "title": problem.rule}
    said = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None)
    return f"::{kind} {said}::{_escaped(f'{problem.object}: {problem.sentence}')}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def sarif(problems: Sequence[Problem], rules: Iterable[Rule], environment: Environment, version: str) -> dict[str, Any]:
    """One run for code scanning. Without notes: what cannot be decided is no result."""
    listed = list(rules)
    numbers = {rule.id: index for index, rule in enumerate(listed)}
    driver = {
        "name": "ringfence",
        "version": version,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": f"{rule.title}."},
                "fullDescription": {"text": rule.why},
                "help": {"text": rule.remedy},
                "defaultConfiguration": {"level": str(rule.level(environment))},
            }
            for rule in listed
        ],
    }
    results = [_result(one, numbers) for one in problems if one.level is not Level.NOTE]
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _uri(source: str) -> str:
    """Relative to where the check runs, which code scanning takes for the repository; absolute of what is elsewhere."""
    path = Path(source)
    if not path.is_absolute():
        return quote(path.as_posix())
    return quote(path.relative_to(Path.cwd()).as_posix()) if path.is_relative_to(Path.cwd()) else path.as_uri()


def _result(problem: Problem, numbers: dict[str, int]) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.source)}}
    if problem.line is not None:
        physical["region"] = {"startLine": problem.line}
    logical = {"fullyQualifiedName": f"{problem.object}: {problem.path}" if problem.path else problem.object}
    return {
        "ruleId": problem.rule,
        "ruleIndex": numbers[problem.rule],
        "level": str(problem.level),
        "message": {"text": problem.sentence},
        "locations": [{"physicalLocation": physical, "logicalLocations": [logical]}],
    }
