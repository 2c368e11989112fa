"""Forms: ways to say a placement in requests and constraints. All of one placement allow the same sets at other costs.

Each file with a family of forms yields what it has for a placement; `candidates` collects them, `work` and `cost`
measure them, `choose` takes one and tells why. Every form that is taken is proven (topology.proof).
"""
