"""The policy pack: constructing it starts a server on stdout, so it happens here and only when run."""

from __future__ import annotations

import sys
from pathlib import Path

# The engine runs this folder as a program, which makes it the root of imports; the packages are beside it.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pulumi_policy import PolicyPack

from policy.pack.policies import policies
from policy.rules.catalogue import RULES

if __name__ == "__main__":
    PolicyPack(name="ringfence", policies=policies(RULES))
