"""The catalogue, and what the pack can be told, as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from policy.pack.declared import SCHEMA
from policy.rules.catalogue import RULES, of
from policy.rules.model import Environment, Example, Group, Rule

_HEADINGS = {
    Group.CLAIMS: "Claims",
    Group.DRIVER: "Drivers and classes",
    Group.CONFIDENTIAL: "Confidential containers",
    Group.GENERAL: "General",
}
_KINDS = {"array": "list", "object": "mapping", "string": "text", "integer": "number"}
_HEAD = """\
# Rules

Written by `make docs` from the rules themselves; a change here by hand is lost.

`pulumi preview --policy-pack policy` has a policy for each, by its id; `ringfence claims check` has those on claims, or
others by `--group`. A finding is an **error** (it stops a preview; exit status 1), a **warning** or, where something
cannot be decided from what is known, a note. In an example, `pulumi:` stands for the options of the resource.

## Configuration of the pack

A stack of ringfence needs none: servers, profile and version are those of its stack file. Others, and exceptions, go
into a JSON file, `pulumi preview --policy-pack policy --policy-pack-config FILE`: under `declared` what all rules are
told, under a rule's id its level (`mandatory`, `advisory`, `disabled`), under `all` that of all.

```json
{
  "declared": {"servers": ["box16"], "kubernetes": "1.36", "privileged": ["kube-system/cni"]},
  "image-digest": "advisory"
}
```
"""


def markdown() -> str:
    """The whole page, ending in a newline."""
    return "\n".join([_HEAD, *_configuration(), "", "## Catalogue\n", *_table(), "", *_groups()])


def _configuration() -> Iterator[str]:
    yield "| `declared` | what it says | without it |"
    yield "|---|---|---|"
    for key, schema in SCHEMA.items():
        kind = " or ".join(map(str, schema["enum"])) if "enum" in schema else _KINDS[schema["type"]]
        default = schema.get("default", "")
        shown = ", ".join(default) if isinstance(default, list) else str(default)
        yield f"| `{key}` | {schema['description']} ({kind}) | {shown} |"


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
