"""From the SDK's proxies to plain data, UNKNOWN where reading would have raised.

A proxy is no dict and no list, and raises for a value that is not known yet, which ends the whole policy and makes the
SDK report it as advisory. So each value is read by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from policy.rules.view import UNKNOWN


def plain(value: Any) -> Any:
    """The value as dicts, lists and scalars. Whole floats become ints: the wire knows no others."""
    if isinstance(value, Mapping):
        return {str(key): _read(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_read(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _read(value: Any, key: Any) -> Any:
    try:
        return plain(value[key])
    except UnknownValueError:
        return UNKNOWN
