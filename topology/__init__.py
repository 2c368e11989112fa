"""What the tool said about a server, what follows from it, and the claims that hand it out.

Plain functions over plain data: nothing in this room opens a file, talks to a cluster or imports Pulumi.
"""
