"""Writes the golden files anew: `make golden`. Read the difference before you commit it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from tests.cli import test_explain
from tests.topology.test_claims import GOLDEN, SERVERS
from tests.topology.wirings import shipped
from topology.claims import compile_templates
from topology.profiles import OPENFUYAO

if __name__ == "__main__":
    for name in SERVERS:
        made = [template.manifest() for template in compile_templates(shipped(name), OPENFUYAO)]
        (GOLDEN / f"{name}.yaml").write_text(yaml.safe_dump_all(made, sort_keys=False))
    with tempfile.TemporaryDirectory() as folder:
        words = test_explain.dumped(Path(folder), *test_explain.RING)
        test_explain.GOLDEN.write_text(test_explain.run("default/c", *words, "--json").stdout)
