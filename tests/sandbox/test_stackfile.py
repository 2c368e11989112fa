from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sandbox import errors, stackfile


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
    return folder


def test_the_copy_follows_the_project_and_keeps_its_salt(project: Path, tmp_path: Path) -> None:
    original = project / "Pulumi.dev.yaml"
    original.write_text("# why\nconfig:\n  tiny:a: 1\n")
    copy = stackfile.refresh(project, tmp_path, "dev")
    copy.write_text(copy.read_text() + "encryptionsalt: v1:x\n")
    original.write_text("# why\nconfig:\n  tiny:a: 2\n")
    stackfile.refresh(project, tmp_path, "dev")
    assert yaml.safe_load(copy.read_text()) == {"config": {"tiny:a": 2}, "encryptionsalt": "v1:x"}
    assert original.read_text() == "# why\nconfig:\n  tiny:a: 2\n", "the checkout stays as it was"


def test_a_salt_of_the_projects_own_wins(project: Path, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("encryptionsalt: v1:copy\n")
    (project / "Pulumi.dev.yaml").write_text("encryptionsalt: v1:own\n")
    assert stackfile.refresh(project, tmp_path, "dev").read_text() == "encryptionsalt: v1:own\n"


def test_a_stack_without_a_file_has_an_empty_one(project: Path, tmp_path: Path) -> None:
    assert stackfile.refresh(project, tmp_path, "dev").read_text() == ""
    assert not (project / "Pulumi.dev.yaml").exists()


def test_what_is_no_project_is_named(tmp_path: Path, project: Path) -> None:
    with pytest.raises(errors.SandboxError, match="cannot be read"):
        stackfile.project_name(tmp_path / "elsewhere")
    (project / "Pulumi.yaml").write_text("runtime: python\n")
    with pytest.raises(errors.SandboxError, match="names no project"):
        stackfile.project_name(project)
