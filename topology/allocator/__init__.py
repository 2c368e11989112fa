"""The scheduler's search for devices, replicated: any driver's slices and claims in, the same devices out, or why not.

The original is the Go package k8s.io/dynamic-resource-allocation/structured, file and version in versions.py;
tests/topology/test_allocator_oracle.py compares the two case by case.
"""

from topology.allocator.allocate import Allocated, Fatal, Given, Outcome, Unsatisfiable, allocate
from topology.allocator.errors import Malformed, TooLong, Unmodelled
from topology.allocator.objects import Claim, Node, World
from topology.allocator.reading import read_claim, read_world
from topology.allocator.versions import NEWEST, VERSIONS, Version

__all__ = [
    "NEWEST",
    "VERSIONS",
    "Allocated",
    "Claim",
    "Fatal",
    "Given",
    "Malformed",
    "Node",
    "Outcome",
    "TooLong",
    "Unmodelled",
    "Unsatisfiable",
    "Version",
    "World",
    "allocate",
    "read_claim",
    "read_world",
]
