"""The way that docs/confidential.md gives for a trial without hardware, as far as it needs no cluster."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from sandbox import places
from sandbox.pair import TRUSTED, WORKLOAD, WORKLOAD_NODES
from settings.capabilities import VERSIONS
from settings.load import read


def test_its_stack_file_is_for_the_pair(tmp_path: Path) -> None:
    page = (places.CHECKOUT / "docs" / "confidential.md").read_text(encoding="utf-8")
    found = re.search(r"^    (sed .*?) > Pulumi\.trial\.yaml$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    done = subprocess.run(["sh", "-c", found[1]], cwd=places.CHECKOUT, capture_output=True, text=True, check=True)
    (tmp_path / "Pulumi.trial.yaml").write_text(done.stdout)
    stack = read(tmp_path / "Pulumi.trial.yaml")
    assert stack.fence is not None
    assert stack.fence.trusted_cluster is not None
    assert stack.fence.cc_runtime is not None
    contexts = (stack.cluster.context, stack.fence.trusted_cluster.context)
    assert contexts == (f"ringfence-{WORKLOAD}", f"ringfence-{TRUSTED}")
    assert {stack.cluster.version, stack.fence.trusted_cluster.version} == {VERSIONS[-1]}, "the sandbox's own"
    assert set(stack.fence.cc_runtime.nodes) <= set(WORKLOAD_NODES)
    assert stack.ring is not None
    assert stack.ring.create_namespaces, "nobody else makes that of the workload"
    assert {one.namespace for one in stack.fence.workloads} <= set(stack.ring.namespaces)


def test_keys_for_a_pair_that_is_not_up_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.STATE_VARIABLE, str(tmp_path))
    done = CliRunner().invoke(app, ["fence", "keys", "--pair", "--stack", "trial", "--host", "kbs.example"])
    assert done.exit_code == 1
    assert "the two clusters are not up. Start them: ringfence sandbox pair up" in done.stderr
