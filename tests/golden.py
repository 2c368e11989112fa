"""Writes the golden files anew: `make golden`. Read the difference before you commit it."""

from __future__ import annotations

import yaml

from tests.topology.test_claims import GOLDEN, SERVERS
from tests.topology.wirings import shipped
from topology.claims import compile_templates
from topology.profiles import OPENFUYAO

if __name__ == "__main__":
    for name in SERVERS:
        made = [template.manifest() for template in compile_templates(shipped(name), OPENFUYAO)]
        (GOLDEN / f"{name}.yaml").write_text(yaml.safe_dump_all(made, sort_keys=False))
