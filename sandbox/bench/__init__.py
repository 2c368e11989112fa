"""`ringfence bench`: what claims cost the real scheduler, each figure beside its comparison from the same run.

forms (specs to compare) → fleet (simulated servers of one kind) → attempts, bursts, forms table, preview (measuring with
metrics) → summary and chart. Only forms, metrics, summary and chart are pure; the rest talks to a plane of its own.
"""
