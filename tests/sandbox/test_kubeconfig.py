"""Kubeconfigs can be moved about, and several become one."""

from __future__ import annotations

from pathlib import Path

import yaml

from sandbox import kubeconfig, pki
from sandbox.report import Silent


def test_of_several_every_context_is_kept_and_the_first_is_the_current_one(tmp_path: Path) -> None:
    pki.ensure(tmp_path / "pki", Silent())
    sources = []
    for name in ("one", "two", "three"):
        sources.append(tmp_path / name)
        certificates = tmp_path / "pki"
        kubeconfig.write(
            sources[-1], server=f"https://{name}", context=name, certificates=certificates, identity="admin"
        )
    kubeconfig.write_merged(tmp_path / "merged", sources)
    merged = yaml.safe_load((tmp_path / "merged").read_text())
    assert merged["current-context"] == "one"
    for key in ("clusters", "users", "contexts"):
        assert merged[key] == [entry for source in sources for entry in yaml.safe_load(source.read_text())[key]]
    assert (tmp_path / "merged").stat().st_mode & 0o077 == 0, "there are keys in it"
