"""Whether the API server would take a CEL expression, and what it does on a device without any attribute."""

from __future__ import annotations

import re

from topology.allocator.errors import SchedulerError, Unmodelled
from topology.allocator.objects import Device
from topology.allocator.selectors import compiled, domains_of, environment, texts_of

_BARE = Device("probe", {}, {}, (), (), False, False)

# Of the libraries that k8s.io/apiserver/pkg/cel gives selectors beside those that are replicated.
_NOT_HERE = frozenset(
    re.findall(
        r"\w+",
        """
        cel bind sets math lists optMap optFlatMap find findAll includes indexOf lastIndexOf isSorted min max sum slice
        flatten distinct reverse sort sortBy first last range url isURL getScheme getHost getPort getEscapedPath
        getQuery ip isIP cidr isCIDR family containsIP containsCIDR format validate base64 transformList transformMap
        unwrap unwrapOpt
        """,
    )
)
_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'")
_OPERATORS = {
    "_==_": "==",
    "_!=_": "!=",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
    "_&&_": "&&",
    "_||_": "||",
}


def refusal(expression: str) -> str | None:
    """Why the API server refuses it; None where it takes it. Unmodelled where that cannot be told here."""
    try:
        kind = environment().compile(expression).return_type().name()
    except RuntimeError as error:
        why = _said(str(error))
        if _NOT_HERE & set(re.findall(r"[A-Za-z_]\w*", expression)) and "syntax" not in why:
            raise Unmodelled(f"the CEL expression {expression!r}") from error
        return why
    return None if kind in ("BOOL", "DYN") else f"it gives {kind.lower()}, and a selector has to give true or false"


def _said(message: str) -> str:
    """The first complaint, in short: the library lists all tokens that it would have liked better."""
    first = next((line for line in message.splitlines() if "ERROR:" in line), message.partition("\n")[0])
    place = re.search(r"<input>:(\d+):(\d+): (.*)", first)
    if place is None:
        return "it does not compile"
    said = place[3]
    syntax = re.match(r"Syntax error: (.*?)(?: expecting .*)?$", said)
    undeclared = re.match(r"undeclared reference to '([^']*)'", said)
    overload = _OVERLOAD.match(said)
    if syntax is not None:
        said = f"syntax error, {syntax[1]}"
    elif undeclared is not None:
        said = f"there is no {undeclared[1]}"
    elif overload is not None:
        operator = _OPERATORS.get(overload[1], overload[1])
        said = f"{operator} does not apply to {overload[2].replace('bytes', 'quantity')}"
    return f"at {place[1]}:{place[2]}, {said}"


def impossible_domain(expression: str) -> str | None:
    """A domain that it indexes and that none can be, since it has a slash: domain/name in one. Unmodelled."""
    return next((domain for domain in sorted(domains_of(expression)) if "/" in domain), None)


def fails(expressions: tuple[str, ...], driver: str) -> str | None:
    """The first of these, all of which a device must meet, that fails on one of this driver without any attribute.

    None where none fails, which is also where an earlier one is false. Unmodelled.
    """
    for expression in expressions:
        try:
            if not compiled(expression).matches(driver, _BARE):
                return None
        except SchedulerError:
            return expression
    return None


def lets_in(expressions: tuple[str, ...], driver: str) -> bool:
    """Whether all are true of a device of this driver without any attribute. Unmodelled."""
    try:
        return all(compiled(expression).matches(driver, _BARE) for expression in expressions)
    except SchedulerError:
        return False


def drivers_named(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """The texts in them that may be a driver's name: they have a dot and no blank."""
    words = [word for expression in expressions for word in texts_of(expression)]
    return tuple(
        dict.fromkeys(word for word in words if re.fullmatch(r"[a-z0-9][-a-z0-9.]*\.[-a-z0-9.]*[a-z0-9]", word))
    )
