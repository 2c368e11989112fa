"""A stack file's YAML as pulumi reads it (gopkg.in/yaml.v3): a key is there once, `yes` is text and a moment is too."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

_UNLIKE = {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012 (as the base class has it)
        first: [(tag, pattern) for tag, pattern in found if tag not in _UNLIKE]
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


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF"))


def parse(text: str) -> Any:
    """What the text says. yaml.YAMLError, with the place in `problem_mark` and the reason in `problem`."""
    # A loader of PyYAML's safe kind: no object but plain data comes of it.
    return yaml.load(text, _Loader)  # noqa: S506
