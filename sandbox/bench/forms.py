"""Named ways to write a claim for the same NPUs, as pure functions: what `ringfence bench` compares.

A form is a function of the server kind and a count; it returns the claim's spec, or None where it has none for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sandbox.bench.kind import Kind

Spec = Mapping[str, Any]
Form = Callable[[Kind, int], Spec | None]


def compiled(kind: Kind, count: int) -> Spec | None:
    """The template that ringfence deploys for the count."""
    template = kind.templates.get(count)
    return None if template is None else template.spec


def plain(kind: Kind, count: int) -> Spec | None:
    """The same count from the same class with nothing asked of it: what a claim costs without topology."""
    return _spec([_request(kind, "npu", count)]) if count <= len(kind.server.npus) else None


def proposal(kind: Kind, count: int) -> Spec | None:
    """The layouts of oFEP-0062's examples, with the chip as a selector of every request.

    Up to a ring one request with matches; past it single requests ring by ring, a ring match for each half and a
    pcieRoot match for each pair. The proposal writes the names of a constraint as one string with commas, which the API
    server refuses; they are list items here.
    """
    ring, root, chip = kind.profile.ring, kind.profile.pcie_root, kind.server.npus[0].chip
    if ring is None or root is None or kind.profile.chip is None or chip is None or count > 2 * len(kind.pairs):
        return None
    selector = f"device.attributes[\"{kind.profile.driver}\"].{kind.profile.chip} == '{chip}'"
    if count <= len(kind.pairs):
        matches = [] if count == 1 else [_match(kind, ["npu"], ring)]
        if 1 < count <= _quarter(kind) and kind.profile.numa is not None:
            matches.append(_match(kind, ["npu"], kind.profile.numa))
        return _spec([_request(kind, "npu", count, selector, kind.profile.device_class)], matches)
    if count % 2:
        return None
    names = [f"npu{number}" for number in range(1, count + 1)]
    half = count // 2
    matches = [_match(kind, names[:half], ring), _match(kind, names[half:], ring)]
    matches += [_match(kind, [names[i], names[i + half]], root) for i in range(half)]
    return _spec([_request(kind, name, 1, selector, kind.profile.device_class) for name in names], matches)


def pairs(kind: Kind, count: int) -> Spec | None:
    """A request of two for each pair of partners, no expressions."""
    return _pairs(kind, count, [None] * (count // 2))


def windows(kind: Kind, count: int) -> Spec | None:
    """Pairs, each narrowed to a window of positions: to choose k of m in order, the i-th needs only i … i+m−k."""
    wanted, there = count // 2, len(kind.pairs)
    return _pairs(kind, count, [range(i, i + there - wanted + 1) for i in range(wanted)])


def half_windows(kind: Kind, count: int) -> Spec | None:
    """Pairs in two windows: the first half of the requests shares one, the second the other; two expressions only."""
    wanted, there = count // 2, len(kind.pairs)
    first = (wanted + 1) // 2
    low, high = range(first + there - wanted), range(first, there)
    return _pairs(kind, count, [low if i < first else high for i in range(wanted)])


def joined(kind: Kind, count: int) -> Spec | None:
    """Pairs, some of them joined by their NUMA node, without expressions: what any choice of pairs allows anyway.

    Of two NUMA nodes with four pairs each, five pairs always hold two times two of one node, six a three and a two.
    A join cuts the search short where a node has too few pairs left.
    """
    numa, runs = kind.profile.numa, {10: (2, 2), 12: (3, 2)}.get(count, ())
    spec = pairs(kind, count)
    if spec is None or numa is None or not runs or not _four_pairs_on_each_of_two_nodes(kind):
        return None
    names = [request["name"] for request in spec["devices"]["requests"]]
    starts = [sum(runs[:i]) for i in range(len(runs))]
    joins = [_match(kind, names[start : start + run], numa) for start, run in zip(starts, runs, strict=True)]
    return _spec(spec["devices"]["requests"], [*spec["devices"]["constraints"], *joins])


def quarters(kind: Kind, count: int) -> Spec | None:
    """Requests of a whole quarter (the NPUs of one ring on one NUMA node), joined by what they share.

    8: two quarters of one ring. 16: all four, NUMA node by NUMA node. 14: both quarters of a NUMA node and three pairs:
    seven of eight pairs always hold one whole NUMA node.
    """
    ring, numa, root, size = kind.profile.ring, kind.profile.numa, kind.profile.pcie_root, _quarter(kind)
    if ring is None or numa is None or root is None or size != 4 or len(kind.server.npus) != 16:
        return None
    joins: Mapping[int, Sequence[tuple[str, tuple[int, int]]]] = {
        8: [(ring, (0, 1))],
        14: [(numa, (0, 1))],
        16: [(numa, (0, 1)), (numa, (2, 3))],
    }
    if count not in joins:
        return None
    names = [f"quarter-{number}" for number in range(count // size if count != 14 else 2)]
    requests = [_request(kind, name, size) for name in names]
    matches = [_match(kind, [name], attribute) for name in names for attribute in (ring, numa)]
    matches += [_match(kind, [names[a], names[b]], attribute) for attribute, (a, b) in joins[count]]
    rest = [f"pair-{number}" for number in range((count - size * len(names)) // 2)]
    requests += [_request(kind, name, 2) for name in rest]
    matches += [_match(kind, [name], root) for name in rest]
    return _spec(requests, matches)


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "compiled": compiled,
        "proposal": proposal,
        "plain": plain,
        "pairs": pairs,
        "windows": windows,
        "half-windows": half_windows,
        "joined": joined,
        "quarters": quarters,
    }
)


def _quarter(kind: Kind) -> int:
    """How many NPUs share ring and NUMA node with the first."""
    names = (kind.profile.ring, kind.profile.numa)
    places = [tuple(values.get(name or "") for name in names) for values in kind.known.values()]
    return places.count(places[0])


def _four_pairs_on_each_of_two_nodes(kind: Kind) -> bool:
    nodes = [{kind.known[id].get(kind.profile.numa or "") for id in pair} for pair in kind.pairs]
    return len(nodes) == 8 and all(len(node) == 1 and nodes.count(node) == 4 for node in nodes)


def _pairs(kind: Kind, count: int, open_to: Sequence[range | None]) -> Spec | None:
    root = kind.profile.pcie_root
    if root is None or count % 2 or not len(kind.pairs) < count <= 2 * len(kind.pairs):
        return None
    names = [f"pair-{number}" for number in range(count // 2)]
    requests = [
        _request(kind, name, 2, None if positions is None else _among(kind, positions))
        for name, positions in zip(names, open_to, strict=True)
    ]
    return _spec(requests, [_match(kind, [name], root) for name in names])


def _among(kind: Kind, positions: range) -> str:
    """The expression for the NPUs of the pairs at these positions."""
    ids = sorted(id for position in positions for id in kind.pairs[position])
    listed = ", ".join(map(str, ids))
    return f'device.attributes["{kind.profile.driver}"].{kind.profile.physical_id} in [{listed}]'


def _request(
    kind: Kind, name: str, count: int, expression: str | None = None, device_class: str | None = None
) -> dict[str, Any]:
    exactly: dict[str, Any] = {
        "deviceClassName": device_class or kind.device_class,
        "allocationMode": "ExactCount",
        "count": count,
    }
    if expression is not None:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": name, "exactly": exactly}


def _match(kind: Kind, requests: Sequence[str], attribute: str) -> dict[str, Any]:
    return {"requests": list(requests), "matchAttribute": kind.profile.qualified(attribute)}


def _spec(requests: list[dict[str, Any]], constraints: list[dict[str, Any]] | None = None) -> Spec:
    devices: dict[str, Any] = {"requests": requests}
    if constraints:
        devices["constraints"] = constraints
    return {"devices": devices}
