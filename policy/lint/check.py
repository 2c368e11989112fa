"""Judging documents by rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policy.lint.documents import Document
from policy.rules.claims.shape import SHAPE
from policy.rules.context import Context
from policy.rules.find import GROUP
from policy.rules.model import Environment, Level, Rule, Subject
from policy.rules.run import judge, weight
from policy.rules.view import Path, dotted


@dataclass(frozen=True)
class Problem:
    """One finding in one document. line: None where lines are not known. path: as people write it."""

    rule: str
    level: Level
    source: str
    line: int | None
    object: str
    path: str
    says: str
    instead: str

    @property
    def sentence(self) -> str:
        return f"{self.says} {self.instead}"


def subjects_of(documents: Sequence[Document]) -> list[Subject]:
    """The documents as rules see them."""
    return [Subject(document.manifest, f"{index}") for index, document in enumerate(documents)]


def check(
    documents: Sequence[Document],
    subjects: Sequence[Subject],
    rules: Iterable[Rule],
    context: Context,
    environment: Environment,
) -> list[Problem]:
    """Every finding, in the order of documents, lines and rules. subjects: those of the documents."""
    chosen = list(rules)
    found: list[Problem] = []
    for document, subject in zip(documents, subjects, strict=True):
        problems = [
            Problem(
                rule.id,
                weight(rule, finding, environment),
                document.source,
                document.line(finding.path),
                str(subject),
                dotted(finding.path),
                finding.says,
                finding.instead,
            )
            for rule in chosen
            for finding in judge(rule, subject, context).findings
        ]
        if any(rule.id == SHAPE.id for rule in chosen) and subject.group == GROUP:
            problems += [_doubled(document, subject, path, first, environment) for path, first in document.doubled]
        found += sorted(problems, key=lambda problem: problem.line or 0)
    return found


def _doubled(document: Document, subject: Subject, path: Path, first: int, environment: Environment) -> Problem:
    """A key that stands twice: no rule sees it, since an object has each key once."""
    return Problem(
        SHAPE.id,
        SHAPE.level(environment),
        document.source,
        document.line(path),
        str(subject),
        dotted(path),
        f"{dotted(path)} stands here a second time, first on line {first}: kubectl takes the last without a word, "
        "kustomize and others refuse the file.",
        "Keep one of them.",
    )
