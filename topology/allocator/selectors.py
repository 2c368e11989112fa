"""CEL selectors over a device, with the environment that k8s.io/dynamic-resource-allocation/cel gives them.

The evaluation is cel-expr-python's (the C++ CEL that the CEL project maintains). What Kubernetes adds is here:
`device`, domains that read as empty where a device has none, quantities, versions. Limits of cost are not modelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional, ext_strings

from topology.allocator import quantity
from topology.allocator.errors import SchedulerError, Unmodelled
from topology.allocator.objects import Device

_QUANTITY, _VERSION = b"q:", b"v:"
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)

# A text, a name, or anything else that is one character; white space parts them.
_TOKEN = re.compile(
    r"""(?P<text>[rRbB]*(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))"""
    r"|(?P<name>[A-Za-z_]\w*)|(?P<space>\s+|//[^\n]*)|(?P<sign>.)",
    re.DOTALL,
)


class Selector:
    """One compiled expression. Unmodelled where it uses what the replica has not, or cannot be compiled here."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        text, self._domains, self._ids = _rewritten(expression)
        try:
            self._program = environment().compile(text)
        except RuntimeError as error:
            # The API server takes nothing that does not compile, so it is we who lack something.
            first = str(error).partition("\n")[0]
            raise Unmodelled(f"the CEL expression {expression!r} ({first})") from error
        if self._program.return_type().name() not in ("BOOL", "DYN"):
            raise Unmodelled(f"the CEL expression {expression!r}, which gives no bool")

    def matches(self, driver: str, device: Device) -> bool:
        """SchedulerError, without the words of which request, where evaluating it fails. Unmodelled for a version
        compared in a way that Kubernetes and this CEL do not do alike."""
        answer = self._program.eval(data=self._data(driver, device))
        if answer.type() == cel.Type.ERROR:
            raise SchedulerError(str(answer.value()))
        value = answer.value()
        if not isinstance(value, bool):
            raise SchedulerError(f"CEL result of type {answer.type().name()} could not be converted to bool")
        return value

    def _data(self, driver: str, device: Device) -> Mapping[str, Any]:
        empty: dict[str, dict[str, Any]] = {domain: {} for domain in self._domains}
        attributes: dict[str, dict[str, Any]] = {}
        for name, (kind, value) in device.attributes.items():
            domain, id = _qualified(name, driver)
            if kind == "version" and id in self._ids:
                raise Unmodelled(f"the version {name} outside its own functions in {self.expression!r}")
            _set(attributes, domain, id, _version(str(value)) if kind == "version" else value, name)
        capacity: dict[str, dict[str, Any]] = {}
        for name, one in device.capacity.items():
            domain, id = _qualified(name, driver)
            _set(capacity, domain, id, _quantity_value(one.value), name)
        return {
            "device.driver": driver,
            "device.allowMultipleAllocations": device.shareable,
            # `"domain" in device.attributes` is about these two ...
            "device.attributes_there": attributes,
            "device.capacity_there": capacity,
            # ... and an index finds an empty map where a domain is not there.
            "device.attributes": empty | attributes,
            "device.capacity": empty | capacity,
        }


def domains_of(expression: str) -> frozenset[str]:
    """The domains by which it indexes attributes and capacities. Unmodelled."""
    return _rewritten(expression)[1]


def texts_of(expression: str) -> list[str]:
    """The texts in an expression, without their quotes; escaped ones are left out."""
    found = [match.group() for match in _TOKEN.finditer(expression) if match.lastgroup == "text"]
    return [text[1:-1] for text in found if text[0] in "'\"" and text[:3] not in ("'''", '"""') and "\\" not in text]


@lru_cache(maxsize=4096)
def compiled(expression: str) -> Selector:
    """As the scheduler, compile each expression once."""
    return Selector(expression)


def _rewritten(expression: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """The expression with its two maps told apart, the domains it indexes, names used outside a version's functions."""
    tokens = [match for match in _TOKEN.finditer(expression) if match.lastgroup != "space"]
    words = [token.group() for token in tokens] + [""] * 6
    if any(token.lastgroup == "text" and token.group()[0] in "bB" for token in tokens):
        raise Unmodelled(f"bytes in the CEL expression {expression!r}")
    domains: set[str] = set()
    out: list[str] = []
    end = 0
    for at, token in enumerate(tokens):
        out.append(expression[end : token.start()])
        end = token.end()
        word = token.group()
        out.append(word)
        if token.lastgroup != "name" or words[at - 1 : at] == ["."]:
            continue
        if word == "device" and words[at + 1] != ".":
            raise Unmodelled(f"device by itself in the CEL expression {expression!r}")
    text = "".join(out) + expression[end:]
    # From the end, so that places stay right.
    for at in reversed(range(len(tokens))):
        if words[at] != "device" or (at and words[at - 1] == "."):
            continue
        field, following = words[at + 2], words[at + 3 : at + 6]
        if field not in ("attributes", "capacity"):
            continue
        if following[0] == "[":
            index = at + 5 if following[1] == "?" else at + 4
            if tokens[index].lastgroup != "text" or words[index + 1] != "]":
                raise Unmodelled(f"an index of device.{field} that is no text in the CEL expression {expression!r}")
            domains.add(_unquoted(words[index], expression))
        elif following[0] == "." and following[1] == "?":
            domains.add(words[at + 5])
        elif following[0] == "." and following[2] != "(":
            domains.add(following[1])
        else:
            place = tokens[at + 2].end()
            text = f"{text[:place]}_there{text[place:]}"
    return text, frozenset(domains), _loose(words, tokens, expression)


_VERSION_FUNCTIONS = {"isLessThan", "isGreaterThan", "compareTo", "major", "minor", "patch"}


def _loose(words: list[str], tokens: list[re.Match[str]], expression: str) -> frozenset[str]:
    """Names that a version must not have: elsewhere than before one of its functions, in has() or before `in`.

    Kubernetes' versions raise an error when compared with anything else, which this CEL would just call unequal.
    """
    loose: set[str] = set()
    for at, token in enumerate(tokens):
        word = token.group()
        if token.lastgroup == "name" and words[at - 1 : at] in (["."], ["?"]):
            called = words[at + 1] == "." and words[at + 2] in _VERSION_FUNCTIONS
            if not called and not _in_has(words, at):
                loose.add(word)
        elif token.lastgroup == "text" and words[at + 1] != "in":
            followed = words[at + 1] == "]" and words[at + 2] == "." and words[at + 3] in _VERSION_FUNCTIONS
            if words[at - 1 : at] == ["["] and not followed:
                loose.add(_unquoted(word, expression))
    return frozenset(loose)


def _in_has(words: list[str], at: int) -> bool:
    if words[at + 1] != ")":
        return False
    start = at
    while start >= 0 and words[start] != "(":
        start -= 1
    return start > 0 and words[start - 1] == "has"


def _unquoted(text: str, expression: str) -> str:
    if "\\" in text or text[0] not in "'\"" or text[:3] in ("'''", '"""'):
        raise Unmodelled(f"an index written as {text} in the CEL expression {expression!r}")
    return text[1:-1]


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, id = name.partition("/")
    return (domain, id) if slash else (driver, name)


def _set(values: dict[str, dict[str, Any]], domain: str, id: str, value: Any, name: str) -> None:
    known = values.setdefault(domain, {})
    # Bool and int are told apart: 1 == True here, and not in CEL.
    if id in known and (type(known[id]), known[id]) != (type(value), value):
        raise Unmodelled(f"{name} given with its domain and without, of which the scheduler reads one by chance")
    known[id] = value


def _quantity_value(size: int) -> bytes:
    return _QUANTITY + str(size).encode()


def _size(value: bytes) -> int:
    if not value.startswith(_QUANTITY):
        raise ValueError("no such overload")
    return int(value[len(_QUANTITY) :])


def _version(text: str) -> bytes:
    if _SEMVER.fullmatch(text) is None:
        raise Unmodelled(f"the version {text!r}, which is no semver")
    # Build metadata does not count in comparisons.
    return _VERSION + text.partition("+")[0].encode()


def _version_of(text: str) -> bytes:
    if _SEMVER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no semantic version")
    return _version(text)


_Rank = tuple[tuple[int, int, int], tuple[int, tuple[tuple[int, int, str], ...]]]


def _rank(value: bytes) -> _Rank:
    found = _SEMVER.fullmatch(value[len(_VERSION) :].decode()) if value.startswith(_VERSION) else None
    if found is None:
        raise ValueError("no such overload")
    before = (found.group(4) or "").split(".") if found.group(4) else []
    marks = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in before)
    # A release comes after all that went before it.
    return (int(found.group(1)), int(found.group(2)), int(found.group(3))), (0 if before else 1, marks)


def _compare(left: bytes, right: bytes) -> int:
    if left.startswith(_QUANTITY):
        a, b = _size(left), _size(right)
        return (a > b) - (a < b)
    c, d = _rank(left), _rank(right)
    return (c > d) - (c < d)


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def is_one(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return is_one


def _as_integer(value: bytes) -> int:
    size = _size(value)
    if size % quantity.NANO or not -(2**63) <= size // quantity.NANO < 2**63:
        raise ValueError("cannot convert value to integer")
    return size // quantity.NANO


@lru_cache(maxsize=1)
def environment() -> Any:
    """What expressions are compiled in."""
    # Quantities and versions are opaque in Kubernetes. CEL's bytes stand for them: nothing else here is bytes.
    kind = cel.Type
    texts, opaque = kind.STRING, kind.BYTES
    functions: dict[str, list[tuple[Any, list[Any], bool, Callable[..., Any]]]] = {
        "quantity": [(opaque, [texts], False, lambda text: _quantity_value(quantity.parse(text)))],
        "isQuantity": [(kind.BOOL, [texts], False, _parses(quantity.parse))],
        "semver": [(opaque, [texts], False, _version_of)],
        "isSemver": [(kind.BOOL, [texts], False, _parses(_version_of))],
        "compareTo": [(kind.INT, [opaque, opaque], True, _compare)],
        "isLessThan": [(kind.BOOL, [opaque, opaque], True, lambda a, b: _compare(a, b) < 0)],
        "isGreaterThan": [(kind.BOOL, [opaque, opaque], True, lambda a, b: _compare(a, b) > 0)],
        "sign": [(kind.INT, [opaque], True, lambda a: (_size(a) > 0) - (_size(a) < 0))],
        "isInteger": [(kind.BOOL, [opaque], True, lambda a: _parses(lambda _: _as_integer(a))(""))],
        "asInteger": [(kind.INT, [opaque], True, _as_integer)],
        "asApproximateFloat": [(kind.DOUBLE, [opaque], True, lambda a: _size(a) / quantity.NANO)],
        "add": [
            (opaque, [opaque, opaque], True, lambda a, b: _quantity_value(_size(a) + _size(b))),
            (opaque, [opaque, kind.INT], True, lambda a, b: _quantity_value(_size(a) + b * quantity.NANO)),
        ],
        "sub": [
            (opaque, [opaque, opaque], True, lambda a, b: _quantity_value(_size(a) - _size(b))),
            (opaque, [opaque, kind.INT], True, lambda a, b: _quantity_value(_size(a) - b * quantity.NANO)),
        ],
        **{
            name: [(kind.INT, [opaque], True, lambda a, part=part: _rank(a)[0][part])]
            for part, name in enumerate(("major", "minor", "patch"))
        },
    }
    maps = kind.Map(texts, kind.Map(texts, kind.DYN)), kind.Map(texts, kind.Map(texts, opaque))
    return cel.NewEnv(
        variables={
            "device.driver": texts,
            "device.allowMultipleAllocations": kind.BOOL,
            "device.attributes": maps[0],
            "device.attributes_there": maps[0],
            "device.capacity": maps[1],
            "device.capacity_there": maps[1],
        },
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional()],
        functions=[
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(f"{name}_{n}", return_type=returns, parameters=takes, is_member=member, impl=impl)
                    for n, (returns, takes, member, impl) in enumerate(overloads)
                ],
            )
            for name, overloads in functions.items()
        ],
    )
