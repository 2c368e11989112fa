"""Where an object differs from what was declared of it, leaving out what an operator adds when it writes it back.

Both operators write the whole object when they add their finalizer. Go then writes the empty structures that it cannot
leave out, and leaves out what is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_EMPTY: tuple[Any, ...] = ({}, [], None, False)


def differences(declared: Any, live: Any) -> list[str]:
    """Phrases such as "config.payloadImage is a, not b", in the order of the paths."""
    return [f"{path} {_said(wanted, now)}" for path, wanted, now in _walk("", declared, live)]


def _walk(path: str, declared: Any, live: Any) -> Iterator[tuple[str, Any, Any]]:
    declared, live = _plain(declared), _plain(live)
    if isinstance(declared or live, Mapping) and isinstance(live or declared, Mapping):
        declared, live = declared or {}, live or {}
        for key in sorted({*declared, *live}):
            yield from _walk(f"{path}.{key}" if path else key, declared.get(key), live.get(key))
    elif _is_list(declared) and _is_list(live) and len(declared) == len(live):
        for index, (wanted, now) in enumerate(zip(declared, live, strict=True)):
            yield from _walk(f"{path}[{index}]", wanted, now)
    elif declared != live:
        yield path, declared, live


def _said(wanted: Any, now: Any) -> str:
    if now is None:
        return "is missing"
    if wanted is None:
        return f"is {_shown(now)}, and nothing is declared"
    return f"is {_shown(now)}, not {_shown(wanted)}"


def _plain(value: Any) -> Any:
    """Without what is empty, all the way down: a structure of nothing is nothing."""
    if isinstance(value, Mapping):
        kept = {key: _plain(inner) for key, inner in value.items()}
        value = {key: inner for key, inner in kept.items() if not _is_empty(inner)}
    elif _is_list(value):
        value = [_plain(inner) for inner in value]
    return None if _is_empty(value) else value


def _is_empty(value: Any) -> bool:
    # By identity of type: 0 is not False here, and "" selects nodes with an empty label.
    return any(type(value) is type(empty) and value == empty for empty in _EMPTY)


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _shown(value: Any) -> str:
    if _is_list(value):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "a mapping"
    return repr(value) if value == "" else str(value)
