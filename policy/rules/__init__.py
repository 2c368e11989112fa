"""Rules as plain functions over plain data: inputs of a resource in, sentences on what is wrong out.

They are imported as `rules` by the pack and as `policy.rules` by tests, so they import nothing of either.
"""
