"""What runs on builders and hosts, on the real engine: nothing in a preview, once in an `up`, again at a change.

The provider `command` is a stand-in (tests.e2e.command.provider), docker too; git, tar and sh are real.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import places, plane
from sandbox.engine import Engine
from sandbox.errors import EngineError
from tests.components.preflight.roots import root
from tests.e2e.conftest import REPORT
from tests.e2e.previews import steps
from tests.sandboxes import sandbox_in

pytestmark = pytest.mark.real

STACK = "dev"
DIGEST = "sha256:" + "5" * 64
# Knows the digest of what was "pushed".
DOCKER = f"""#!/bin/sh
case $1 in
push) echo "$2" >> "{{folder}}/pushed" ;;
image) grep -qx "$5" "{{folder}}/pushed" && echo "${{{{5%:*}}}}@{DIGEST}" ;;
esac
"""
KATA = """mkdir -p out/opt/kata/bin
cp "$SOURCES/kata/agent" out/opt/kata/bin/containerd-shim-kata-v2
tar -cJf kata-static.tar.xz out
docker push "$IMAGE_PAYLOAD"
"""


@dataclass(frozen=True)
class Trial:
    engine: Engine
    roots: Path
    repository: Path

    @property
    def work(self) -> Path:
        return self.roots / "work"

    def commit(self, text: str) -> str:
        """A new one of the source; its digits."""
        (self.repository / "agent").write_text(text)
        for words in (("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
            subprocess.run(["git", "-C", str(self.repository), *words], check=True)
        said = subprocess.run(
            ["git", "-C", str(self.repository), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        return said.stdout.strip()

    def artifacts(self, commit: str, **build: Any) -> dict[str, Any]:
        kata = {
            "command": KATA,
            "files": [{"path": "kata-static.tar.xz", "contains": ["/containerd-shim-kata-v2"]}],
            "images": {"payload": "kata-deploy:3.15.0"},
        }
        return {
            "folder": str(self.work),
            "registry": "registry.example:5000/coco",
            "sources": {"kata": {"url": str(self.repository), "commit": commit}},
            "builds": {"kata": {**kata, **build}},
        }

    def preflight(self, **changes: Any) -> dict[str, Any]:
        host = {"address": "node-a", "privateKey": "ssh-key", "hostKey": "ssh-ed25519 AAAA"}
        return {"hosts": {"a": host}, **changes}

    def write(self, **given: Any) -> None:
        (self.engine.project / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump({"config": {"hosts:given": given}}))

    def ran(self) -> list[str]:
        """What has run since this was asked last."""
        path = self.roots / "ran"
        found = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def steps(self) -> dict[str, str]:
        return steps(self.engine.preview(STACK, "--json").stdout)

    def fails(self) -> str:
        with pytest.raises(EngineError) as caught:
            self.engine.up(STACK)
        return caught.value.evidence


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    """The engine keeps a stack's state in a sandbox; nothing is deployed to this one."""
    with sandbox_in(tmp_path_factory.mktemp("command") / "state", "command", tools, REPORT) as up:
        yield up


@pytest.fixture
def trial(
    cluster: plane.Sandbox, tools: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Trial]:
    project, bin, roots, repository = (tmp_path / name for name in ("project", "bin", "roots", "repository"))
    for folder in (project, bin, roots, repository):
        folder.mkdir()
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    provider = Path(__file__).parent / "command" / "provider.py"
    start = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(provider))} "$@"\n'
    (bin / "pulumi-resource-command").write_text(start)
    (bin / "docker").write_text(DOCKER.format(folder=roots))
    (bin / "dmesg").write_text("#!/bin/sh\nexit 1\n")
    for file in bin.iterdir():
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COMMAND_ROOTS", str(roots))
    (project / "Pulumi.yaml").write_text("name: hosts\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (project / "__main__.py").write_text((Path(__file__).parent / "command" / "program.py").read_text())
    (project / ".venv").symlink_to(places.CHECKOUT / ".venv")
    found = Trial(Engine(cluster, tools, project, REPORT), roots, repository)
    found.write()
    yield found
    found.engine.destroy(STACK)


def test_a_build_runs_in_up_and_not_in_preview_and_not_again_unless_something_changed(trial: Trial) -> None:
    first = trial.commit("one")
    trial.write(artifacts=trial.artifacts(first))
    assert trial.steps().keys() >= {"artifacts-sources", "artifacts/kata"}
    assert trial.ran() == []
    assert not trial.work.exists(), "a preview leaves the builder alone"

    trial.engine.up(STACK)
    assert trial.ran() == ["artifacts-sources", "artifacts/kata"]
    outputs = trial.engine.outputs(STACK)
    assert outputs["images"] == {"kata/payload": f"registry.example:5000/coco/kata-deploy@{DIGEST}"}
    tarball = trial.work / "builds" / "kata" / "kata-static.tar.xz"
    assert outputs["files"]["kata"] == {"kata-static.tar.xz": hashlib.sha256(tarball.read_bytes()).hexdigest()}

    trial.engine.up(STACK)
    trial.engine.preview(STACK, "--expect-no-changes")
    assert trial.ran() == []

    trial.write(artifacts=trial.artifacts(trial.commit("two")))
    assert trial.steps() == {"artifacts-sources": "replace", "artifacts/kata": "replace"}
    assert trial.ran() == []
    trial.engine.up(STACK)
    assert trial.ran() == ["artifacts-sources", "artifacts/kata"], "another commit is another build"
    assert trial.engine.outputs(STACK)["files"] != outputs["files"]

    trial.write()
    trial.engine.up(STACK)
    assert trial.ran() == []
    assert tarball.exists(), "what was built stays on the builder"


def test_a_build_that_fails_fails_the_up_with_the_end_of_its_log_and_is_taken_again(trial: Trial) -> None:
    commit = trial.commit("one")
    broken = "seq 1 100; echo cannot find -lseccomp >&2; exit 2"
    trial.write(artifacts=trial.artifacts(commit, command=broken))
    said = trial.fails()
    assert "cannot find -lseccomp" in said
    assert f"Build kata failed; all it said is in {trial.work}/logs/kata.log on the builder." in said
    assert (trial.work / "logs" / "kata.log").read_text().startswith("1\n2\n")
    assert trial.ran() == ["artifacts-sources", "artifacts/kata"]
    assert "Traceback" not in said

    trial.write(artifacts=trial.artifacts(commit))
    trial.engine.up(STACK)
    assert trial.ran() == ["artifacts/kata"], "the sources are there, and only the build is taken again"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        ({"command": "true"}, "kata-static.tar.xz did not come out, or is empty."),
        ({"command": "echo x > kata-static.tar.xz"}, "kata-static.tar.xz is no tarball that can be read."),
        (
            {"files": [{"path": "kata-static.tar.xz", "contains": ["/configuration-qemu-virtcca.toml"]}]},
            "kata-static.tar.xz has no /configuration-qemu-virtcca.toml.",
        ),
        (
            {"command": KATA.replace("docker push", ": ")},
            "image payload is not in the registry as registry.example:5000/coco/kata-deploy:3.15.0, or neither "
            "skopeo nor "
            "docker can tell its digest.",
        ),
        (
            {
                "command": f"git clone -q $SOURCES/kata sdk && git -C sdk -c user.name=a -c user.email=a@b commit -q "
                f"--allow-empty -m newer\n{KATA}",
                "commits": {"sdk": "kata"},
            },
            "the command took another version than is asked for.",
        ),
        (
            {"command": f"mkdir -p tree/src; echo x > tree/src/a.c.rej\n{KATA}", "patched": ["tree"]},
            "patches were not applied and the command went on: tree/src/a.c.rej",
        ),
    ],
    ids=["nothing", "no tarball", "incomplete", "not pushed", "another version", "rejected patch"],
)
def test_what_came_out_is_checked_though_the_command_called_itself_done(
    trial: Trial, build: dict[str, Any], says: str
) -> None:
    trial.write(artifacts=trial.artifacts(trial.commit("one"), **build))
    assert says in trial.fails().replace("\n", " ")


def test_a_commit_that_is_not_there_is_told(trial: Trial) -> None:
    trial.commit("one")
    trial.write(artifacts=trial.artifacts("0" * 40))
    assert f"kata: {trial.repository} has no commit {'0' * 40}." in trial.fails()


def test_a_fit_host_is_looked_at_once_and_again_when_asked(trial: Trial) -> None:
    root(trial.roots / "node-a", {"sys/kernel/tmm/memory_info": None})
    trial.write(preflight=trial.preflight())
    assert trial.steps().keys() >= {"preflight/a"}
    assert trial.ran() == []
    trial.engine.up(STACK)
    assert trial.ran() == ["preflight/a"]
    (unknown,) = trial.engine.outputs(STACK)["verdicts"]["a"]
    assert unknown.startswith("secure memory: /sys/kernel/tmm/memory_info could not be read")
    trial.engine.up(STACK)
    assert trial.ran() == []
    trial.write(preflight=trial.preflight(again="after the BIOS update"))
    assert trial.steps() == {"preflight/a": "replace"}
    trial.engine.up(STACK)
    assert trial.ran() == ["preflight/a"]
    state = trial.engine.run(["stack", "export"], stack=STACK).stdout
    assert "never-to-be-seen" not in state


def test_an_unfit_host_fails_every_up_with_its_verdict_until_it_is_put_right(trial: Trial) -> None:
    root(trial.roots / "node-a", {"proc/cmdline": "quiet\n", "proc/sys/vm/overcommit_memory": "0\n"})
    trial.write(preflight=trial.preflight())
    for _ in range(2):
        said = trial.fails()
        assert "Host a is not fit for confidential containers:" in said
        assert "kernel parameters: the kernel was booted without virtcca_cvm_host=1." in said
        assert "vm.overcommit_memory: it is 0, and has to be 1." in said
        assert "Traceback" not in said
    urn = said.partition("pulumi up --replace '")[2].partition("'")[0]
    root(trial.roots / "node-a")
    trial.engine.up(STACK, "--replace", urn)
    assert trial.engine.outputs(STACK)["verdicts"] == {"a": []}


def test_a_host_that_says_nothing_fails_the_up(trial: Trial) -> None:
    host = {"address": "x", "privateKey": "ssh-key", "hostKey": "ssh-ed25519 AAAA"}
    trial.write(preflight=trial.preflight(hosts={"a": host}))
    # No such root folder: the machine itself is not arm64 or lacks virtCCA.
    assert "is not fit for confidential containers" in trial.fails()
