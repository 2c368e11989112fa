"""The catalogue as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from policy.rules.catalogue import RULES, of
from policy.rules.model import Environment, Example, Group, Rule

_HEADINGS = {
    Group.CLAIMS: "Claims",
    Group.DRIVER: "Drivers and classes",
    Group.CONFIDENTIAL: "Confidential containers",
    Group.GENERAL: "General",
}
_HEAD = """\
# Rules

Written by `make docs` from the rules themselves; a change here by hand is lost.

`pulumi preview --policy-pack policy` has a policy for each, by its id, and takes `declared` for what all share; see
`policy/pack/declared.py`. `ringfence claims check` has those on claims, and others with `--group`. A finding is an
**error** (it stops a preview; exit status 1), a **warning** or, where something cannot be decided from what is known,
a note. In an example, `pulumi:` stands for the options of the resource.
"""


def markdown() -> str:
    """The whole page, ending in a newline."""
    return "\n".join([_HEAD, *_table(), "", *_groups()])


def _table() -> Iterator[str]:
    yield "| rule | what complies | dev | prod |"
    yield "|---|---|---|---|"
    for rule in RULES:
        levels = " | ".join(str(rule.level(environment)) for environment in Environment)
        yield f"| [{rule.id}](#{rule.id}) | {rule.title} | {levels} |"


def _groups() -> Iterator[str]:
    for group in Group:
        rules = of([group])
        if rules:
            yield f"## {_HEADINGS[group]}\n"
            for rule in rules:
                yield from _rule(rule)


def _rule(rule: Rule) -> Iterator[str]:
    yield f"### {rule.id}\n"
    yield f"{rule.title}.\n"
    yield _wrapped(f"**Why.** {rule.why}")
    yield _wrapped(f"**Instead.** {rule.remedy}")
    yield from _example("Complies", rule.complies)
    yield from _example("Does not", rule.violates)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _example(heading: str, example: Example) -> Iterator[str]:
    given = [f"servers {', '.join(example.servers)}"] if example.servers else []
    given += [f"Kubernetes {example.kubernetes}"] if example.kubernetes is not None else []
    known = f", with {' and '.join(given)}" if given else ""
    yield f"<details><summary>{heading}{known}</summary>\n"
    yield f"```yaml\n{example.text.rstrip()}\n```\n"
    yield "</details>\n"
