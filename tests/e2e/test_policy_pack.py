"""`pulumi preview --policy-pack policy`, for real: the shipped stacks pass, and each broken copy is stopped by its "
"rule."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sandbox import places, plane
from sandbox.engine import Engine
from sandbox.report import Silent

pytestmark = pytest.mark.real

NAME = "ringfence-pack"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.STATE_VARIABLE, str(tmp_path_factory.mktemp("pack") / "state"))
        yield plane.up("pack", tools, Silent())
        plane.down("pack", Silent())


def preview(
    sandbox: plane.Sandbox,
    tools: Mapping[str, Path],
    folder: Path,
    stack: str,
    changes: Mapping[str, str] | None = None,
    *words: str,
) -> subprocess.CompletedProcess[str]:
    """`pulumi preview --policy-pack policy` of a copy of the project; changes: in its files, old text → new."""
    for name in ("Pulumi.yaml", f"Pulumi.{stack}.yaml", "__main__.py"):
        shutil.copyfile(places.CHECKOUT / name, folder / name)
    for name in (".venv", "policy", "components", "settings", "topology", "servers"):
        (folder / name).symlink_to(places.CHECKOUT / name)
    file = folder / f"Pulumi.{stack}.yaml"
    file.write_text(file.read_text().replace("npu-prod-a", sandbox.context).replace("ringfence-dev", sandbox.context))
    for old, new in (changes or {}).items():
        touched = [path for path in (file, folder / "__main__.py") if old in path.read_text()]
        assert touched, f"{old!r} is in neither"
        for path in touched:
            path.write_text(path.read_text().replace(old, new))
    engine = Engine(sandbox, tools, folder, Silent())
    return engine.preview(stack, "--policy-pack", str(folder / "policy"), *words, check=False)


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_shipped_stacks_pass(sandbox: plane.Sandbox, tools: Mapping[str, Path], tmp_path: Path, stack: str) -> None:
    done = preview(sandbox, tools, tmp_path, stack)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mandatory" not in done.stdout
