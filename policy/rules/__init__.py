"""Rules as plain functions over plain data: an object and what surrounds it in, findings out.

`model` says what a rule is, `catalogue` lists them all, `run` puts one to an object. A group is a folder; to add a rule
is to add it to its file and the file to its folder's RULES.
"""
