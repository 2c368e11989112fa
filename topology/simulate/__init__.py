"""How quickly servers break into pieces: jobs come and go, and each way of choosing NPUs is asked if the next one fits.

Files in the order in which a run goes through them: `rules` (the sets a job may be given), `jobs` (the arrivals),
`firstfit` and `proposal` (one claim on one node), `strategies` (one job on the cluster), `packing` (what no choice
could better), `run` (the clock), `scene` (what is simulated), `compare` (all of it, as data).
"""
