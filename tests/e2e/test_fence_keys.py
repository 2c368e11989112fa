"""`ringfence fence keys` with the real pulumi: what it leaves in the stack file, and that a program can use it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from tests.e2e.conftest import Pair

pytestmark = pytest.mark.real


def test_the_stack_file_holds_them_encrypted_and_pulumi_gives_them_back(
    tools: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "backend").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: ringfence\nruntime: python\n")
    monkeypatch.setenv("PATH", os.pathsep.join([str(tools["pulumi"].parent), os.environ["PATH"]]))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path / 'backend'}")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "x")
    monkeypatch.setenv("PULUMI_SKIP_UPDATE_CHECK", "true")

    def pulumi(*words: str) -> str:
        done = subprocess.run(["pulumi", *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    pulumi("stack", "init", "prod", "--non-interactive")
    words = [
        "--stack",
        "prod",
        "--host",
        "kbs.example",
        "--project",
        str(tmp_path),
        "--ca-out",
        str(tmp_path / "ca.pem"),
    ]
    done = CliRunner().invoke(app, ["fence", "keys", *words])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "Pulumi.prod.yaml").read_text()
    assert "BEGIN" not in text
    config = yaml.safe_load(text)["config"]
    assert len(config) == 9
    assert all(set(value) == {"secure"} for value in config.values())
    assert "-----BEGIN PRIVATE KEY-----" in pulumi("config", "get", "secrets:kbs-admin-private-key", "--stack", "prod")
    assert CliRunner().invoke(app, ["fence", "keys", *words]).exit_code == 2
    assert CliRunner().invoke(app, ["fence", "keys", *words, "--rotate"]).exit_code == 0


def test_a_stack_of_the_pair_gets_keys_that_its_pulumi_can_read(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pair's state is not the user's, so the user's own pulumi knows no such stack."""
    monkeypatch.setattr("cli.fence.pair.find", lambda: pair.up)
    (tmp_path / "Pulumi.yaml").write_text("name: ringfence\nruntime: python\n")
    words = ["--pair", "--stack", "trial", "--host", "kbs.example", "--project", str(tmp_path)]
    done = CliRunner().invoke(app, ["fence", "keys", *words, "--ca-out", str(tmp_path / "ca.pem")])
    assert done.exit_code == 0, done.output
    assert "BEGIN" not in (tmp_path / "Pulumi.trial.yaml").read_text()
    engine = pair.engine(tmp_path)
    said = engine.run(["config", "get", "secrets:kbs-tls-certificate"], stack="trial").stdout
    assert said.startswith("-----BEGIN CERTIFICATE-----")
