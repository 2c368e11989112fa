"""Why a claim is pending: which device, constraint and request stand in the way, and what would free it.

Everything that is said comes from topology.allocator: it was tried, changed in one thing, and tried again.
"""

from topology.explain.explain import LIMIT, explain
from topology.explain.results import Explanation, Fault, OnNode, Verdict
from topology.explain.situation import NotThere, Situation, Subject, read_situation, subject
from topology.explain.words import lines

__all__ = [
    "LIMIT",
    "Explanation",
    "Fault",
    "NotThere",
    "OnNode",
    "Situation",
    "Subject",
    "Verdict",
    "explain",
    "lines",
    "read_situation",
    "subject",
]
