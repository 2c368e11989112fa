"""The resource policy: which attested guest may have which resource. The KBS asks it for every single one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from settings.trustee import Broker

_HEAD = "package policy\n\nimport rego.v1\n\n"

ALLOW_ALL = f"{_HEAD}default allow := true\n"
DENY_ALL = f"{_HEAD}default allow := false\n"

_AFFIRMED = {
    "Ear": """
affirmed if {
	count(input.submods) > 0
	every _, submod in input.submods {
		submod["ear.status"] == "affirming"
	}
}
""",
    # A Simple token exists only where the attestation policy said yes; it has no status to look at.
    "Simple": """
affirmed if {
	some report in input["evaluation-reports"]
	report["policy-id"] == "default"
}
""",
}


def affirming(broker: Broker) -> str:
    """Every resource, for guests that the attestation policy vouches for."""
    return f"{_HEAD}default allow := false\n\nallow if affirmed\n{_AFFIRMED[broker]}"


def by_tenant(tenants: Mapping[str, Sequence[str]]) -> str:
    """What is in a Secret only for guests with one of its RIMs, and affirmed. For Ear tokens.

    tenants: name of a Secret → RIMs of the guests that may have it. A Secret that is not named is for nobody.
    """
    table = json.dumps({name: sorted(rims) for name, rims in sorted(tenants.items())}, indent="\t")
    return f"""{_HEAD}default allow := false

rims := {table}

# resource/default/<Secret>/<key>; clients of some versions leave out the first.
steps := split(data["resource-path"], "/")

last := count(steps) - 1

allow if {{
	affirmed
	last in {{2, 3}}
	steps[last - 2] == "default"
	some _, submod in input.submods
	submod["ear.veraison.annotated-evidence"].virtcca.realm.rim in rims[steps[last - 1]]
}}
{_AFFIRMED["Ear"]}"""
