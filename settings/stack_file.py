"""A stack file's YAML as pulumi reads it (gopkg.in/yaml.v3): a key is there once, `yes` is text, and so is a moment,
though in another form than it was written in. So a file is right here exactly if it is for the program."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

_BOOL, _MOMENT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012 (as the base class has it)
        first: [(tag, pattern) for tag, pattern in found if tag != _BOOL]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name} is there already, in line {seen[name]}", key.start_mark
                )
            seen[name] = line
        return super().construct_mapping(node, deep)

    def construct_moment(self, node: yaml.ScalarNode) -> str:
        found = self.construct_yaml_timestamp(node)
        # As Go prints a time.
        return f"{found:%Y-%m-%d %H:%M:%S} +0000 UTC"


_Loader.add_constructor(_MOMENT, _Loader.construct_moment)
_Loader.add_implicit_resolver(_BOOL, re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF"))


def parse(text: str) -> Any:
    """What the text says. yaml.YAMLError, with the place in `problem_mark` and the reason in `problem`."""
    # A loader of PyYAML's safe kind: no object but plain data comes of it.
    return yaml.load(text, _Loader)  # noqa: S506
