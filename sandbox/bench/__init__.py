"""`ringfence bench`: what claims cost the real scheduler, each figure beside its comparison from the same run.

`forms` has the claims that are compared, `kind` and `states` the server they are tried on; `cluster` is the plane;
`attempts`, `bursts`, `side_by_side` and `preview` measure, by the `metrics` it keeps; `results` and `chart` tell.
"""
