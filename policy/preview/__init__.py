"""The report on a preview: what pulumi would do, in the words of those who use the cluster.

`reading` makes plain data of pulumi's JSON and keeps no value that `shown` does not know as harmless; `meaning` says
what a change does to pods and hosts; `report` lays it out as one Markdown comment. Nothing here imports Pulumi.
"""
