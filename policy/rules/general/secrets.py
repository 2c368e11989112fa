"""Secrets in the clear: where a value looks like one, its place is told and never the value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import containers, pod_specs
from policy.rules.model import Example, Finding, Group, Rule, Subject
from policy.rules.view import View

_NAME = re.compile(
    r"(?i)(^|[-_.])(pass(word|wd|phrase)?|secret|token|api[-_]?key|private[-_]?key|access[-_]?key|credentials?)$"
)
# A reference, a path, a switch or a file's name is no secret, whatever it is called.
_HARMLESS = re.compile(
    r"(?i)|true|false|none|null|\d{1,5}|\$\(.*\)|\$\{.*\}|\{\{.*\}\}|(file:|kbs:|vault:)?/.*|<[^>]*>|\.+/.*"
)
_SHAPES = (
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("an AWS access key", re.compile(r"(?<![A-Z0-9])(AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])")),
    ("a GitHub token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_\w{40,}\b")),
    ("a JSON web token", re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}\b")),
    ("a password in a URL", re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@$]{3,}@")),
)
_FLAG = re.compile(r"(?i)^--?[\w-]*(password|passwd|secret|token|api-?key)=(?P<value>.+)$")


def _plain(subject: Subject, context: Context) -> Iterator[Finding]:
    place = f"{context.namespace_of(subject)}/{subject.name}"
    for what, name, view, text in _values(subject):
        if f"{place}/{name}" not in context.allowed.plain and (why := _looks_like(name, text)) is not None:
            yield Finding(
                view.path,
                f"{what} looks like {why} in the clear: it is in every copy of this file, in the stack's state and in "
                "`kubectl "
                "get`.",
                "Keep it in a Secret and refer to it by name (secretKeyRef, secretName); change it, since it has been "
                "seen.",
            )


def _values(subject: Subject) -> Iterator[tuple[str, str, View, str]]:
    """(what it is, its name, where, the value) of everything that is written out where anyone may read it."""
    if subject.kind == "ConfigMap" and subject.api_version == "v1":
        for key, view in subject.view.at("data").entries():
            if (text := view.text()) is not None:
                yield f"Key {key} of the ConfigMap", key, view, text
    for spec in pod_specs(subject):
        for container in containers(spec):
            for variable in container.at("env").items():
                name, value = variable.at("name").text(), variable.at("value")
                if name is not None and (text := value.text()) is not None:
                    yield f"Environment variable {name}", name, value, text
            for key in ("command", "args"):
                for word in container.at(key).items():
                    text = word.text()
                    if text is not None and (found := _FLAG.match(text)) is not None:
                        flag = text.partition("=")[0].lstrip("-")
                        yield f"Argument --{flag}", flag, word, found["value"]


def _looks_like(name: str, text: str) -> str | None:
    for what, shape in _SHAPES:
        if shape.search(text):
            return what
    named = _NAME.search(name) is not None and not _HARMLESS.fullmatch(text.strip())
    return "a secret by its name" if named and "\n" not in text.strip() else None


_ENV = """\
apiVersion: v1
kind: Pod
metadata: {{name: job}}
spec:
  containers:
  - name: train
    image: registry.example/train:1.2
    env:
    - name: REGISTRY_PASSWORD
      {}
"""

PLAIN = Rule(
    id="no-plain-secrets",
    title="No secret is written into a ConfigMap, an environment variable or an argument",
    why="Such values end up in the repository, in the state of the stack, in previews and their comments, and are "
    "open to everyone who may read pods.",
    group=Group.GENERAL,
    remedy="A Secret, referred to by name.",
    check=_plain,
    complies=Example(_ENV.format("valueFrom: {secretKeyRef: {name: registry, key: password}}")),
    violates=Example(_ENV.format("value: an-example-that-opens-nothing")),
)

RULES = (PLAIN,)
