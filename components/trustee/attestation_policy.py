"""The attestation policy for virtCCA: what a guest has to prove before it gets a token.

Trustee's own defaults are of no use for it: with Simple any claim without a reference value passes, with Ear no virtCCA
guest is ever affirmed. Both forms here fail closed: a reference value that is missing or has expired matches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from settings.trustee import Broker

_WITHIN = """
within(claim, known) if {
	not is_array(claim)
	claim in known
}

# A list of measurements: every one of them has to be known.
within(claim, known) if {
	is_array(claim)
	count(claim) > 0
	every item in claim {
		item in known
	}
}
"""


def attestation_policy(broker: Broker, names: Sequence[str]) -> str:
    """The text of the policy. ValueError without a name: a policy that compares nothing would accept everyone.

    names: of the reference values, dotted as in the claims, all of which a guest has to match. Simple is handed the
    claims under those very names, Ear as a tree.
    """
    if not names:
        raise ValueError("a policy without reference values would accept everyone")
    body = "\n\n".join(_comparison(broker, name, number) for number, name in enumerate(sorted(set(names)), 1))
    head = "package policy\n\nimport rego.v1\n\n"
    if broker == "Simple":
        return f"{head}default allow := false\n\nallow if {{\n{body}\n}}\n{_WITHIN}"
    # AR4SI (draft-ietf-rats-ar4si): 3, only approved executables were booted; 33, some are not recognised. Nothing is
    # said of hardware: the verifier for virtCCA leaves too much of the platform token unchecked for that.
    return f"{head}default executables := 33\n\nexecutables := 3 if {{\n{body}\n}}\n{_WITHIN}"


def _comparison(broker: Broker, name: str, number: int) -> str:
    # Both by name first: where either is missing the rule is at its end here, and its default holds.
    return "\n".join(
        [
            f"\tclaim_{number} := {_claim(broker, name)}",
            f"\tknown_{number} := data.reference[{_quoted(name)}]",
            f"\twithin(claim_{number}, known_{number})",
        ]
    )


def _claim(broker: Broker, name: str) -> str:
    steps = [name] if broker == "Simple" else name.split(".")
    return "input" + "".join(f"[{_quoted(step)}]" for step in steps)


def _quoted(text: str) -> str:
    if '"' in text or "\\" in text or "\n" in text:
        raise ValueError(f"{text!r} cannot be a name in a policy")
    return f'"{text}"'
