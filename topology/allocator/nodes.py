"""Whether a node is selected, as k8s.io/component-helpers/scheduling/corev1/nodeaffinity does it."""

from __future__ import annotations

from topology.allocator.errors import Unmodelled
from topology.allocator.objects import Node, NodeSelector, Requirement


def node_matches(node: Node, name: str, all_nodes: bool, selector: NodeSelector | None) -> bool:
    """The first that is set decides: the name, all nodes, the selector."""
    if name:
        return node.name == name
    if all_nodes:
        return True
    return selector is not None and any(
        # An empty term selects nothing.
        bool(expressions or fields)
        and all(_label(node, one) for one in expressions)
        and all(_field(node, one) for one in fields)
        for expressions, fields in selector.terms
    )


def _label(node: Node, wanted: Requirement) -> bool:
    value = node.labels.get(wanted.key)
    match wanted.operator:
        case "In" if wanted.values:
            return value in wanted.values
        case "NotIn" if wanted.values:
            return value not in wanted.values
        case "Exists" if not wanted.values:
            return value is not None
        case "DoesNotExist" if not wanted.values:
            return value is None
        case "Gt" | "Lt" if len(wanted.values) == 1:
            limit, number = _int64(wanted.values[0]), _int64(value)
            if limit is None:
                raise _refused(wanted)
            if number is None:
                return False
            return number > limit if wanted.operator == "Gt" else number < limit
    raise _refused(wanted)


def _field(node: Node, wanted: Requirement) -> bool:
    if wanted.key != "metadata.name" or len(wanted.values) != 1 or wanted.operator not in ("In", "NotIn"):
        raise _refused(wanted)
    return (node.name == wanted.values[0]) is (wanted.operator == "In")


def _int64(text: str | None) -> int | None:
    digits = (text or "").removeprefix("-").removeprefix("+")
    if text is None or not digits.isascii() or not digits.isdigit():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _refused(wanted: Requirement) -> Unmodelled:
    return Unmodelled(f"a node selector with {wanted.key} {wanted.operator} {', '.join(wanted.values)}".rstrip())
