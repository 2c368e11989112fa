"""The files of ci/ as their hosts would run them: linted, and every step that is a script is run for real.

Real are bash, git, pulumi, the cluster and ringfence. `gh`, `glab` and `make` are stand-ins that keep what they were
asked for; no host is spoken to.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from policy.preview.report import MARKER
from sandbox import pins, places, toolchain
from tests.e2e.conftest import REPORT, Deployed

CI = places.CHECKOUT / "ci"
GITHUB = sorted((CI / "github").glob("*.yml"))
GITLAB = CI / "gitlab" / "ringfence.gitlab-ci.yml"

_GH = """#!/usr/bin/env bash
set -eu
printf '%s\\n' "$*" >> "$STAND_IN/calls"
case "$*" in
  *download*) while [ "$1" != --dir ]; do shift; done
    mkdir -p "$2/ringfence-report-dev"; cp "$STAND_IN/report-dev.md" "$2/ringfence-report-dev/" ;;
  *PATCH*|*POST*|*PUT*) for word; do case "$word" in body=@*) cp "${word#body=@}" "$STAND_IN/body" ;; esac; done ;;
  *) cat "$STAND_IN/known" ;;
esac
"""


@dataclass(frozen=True)
class Step:
    """One script of a file. env: as written, with the host's expressions in it."""

    file: str
    name: str
    script: str
    env: dict[str, str]


def github_steps() -> Iterator[Step]:
    for path in GITHUB:
        for job, body in yaml.safe_load(path.read_text())["jobs"].items():
            for step in body["steps"]:
                if "run" in step:
                    yield Step(path.stem, f"{job}: {step['name']}", step["run"], step.get("env", {}))


def gitlab_steps() -> Iterator[Step]:
    for job, body in yaml.safe_load(GITLAB.read_text()).items():
        for key in ("before_script", "script"):
            if key in body:
                yield Step(GITLAB.stem, f"{job}: {key}", "\n".join(body[key]), body.get("variables", {}))


STEPS = [*github_steps(), *gitlab_steps()]


def test_actions_are_pinned_by_digest_and_rights_are_few() -> None:
    for path in GITHUB:
        text = path.read_text()
        uses = re.findall(r"uses: (\S+)", text)
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in uses), f"{path.name}: a tag can be moved"
        workflow = yaml.safe_load(text)
        assert workflow["permissions"] in ({}, {"contents": "read"}), path.name
        assert "pull_request_target" not in text, "it would run a fork's code with our secrets"
        # A value from outside in a script would be run as one.
        assert not any("${{" in step.script for step in github_steps()), path.name
        writes = [job for job, body in workflow["jobs"].items() if "write" in json.dumps(body.get("permissions", {}))]
        assert writes == (["comment"] if path.stem == "ringfence-comment" else [])


def test_no_job_has_both_the_code_of_a_pull_request_and_the_right_to_write() -> None:
    comment = yaml.safe_load((CI / "github" / "ringfence-comment.yml").read_text())
    assert list(comment[True]) == ["workflow_run"], "YAML reads `on` as true"
    assert "secrets." not in (CI / "github" / "ringfence-comment.yml").read_text()
    assert "ref:" not in (CI / "github" / "ringfence-comment.yml").read_text(), "the default branch's code only"


@pytest.mark.real
def test_actionlint_finds_nothing() -> None:
    (tool,) = toolchain.ensure(REPORT, programs=pins.LINTERS).values()
    done = subprocess.run([tool, "-no-color", *GITHUB], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout as a host makes it, with the environment that is there already."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", places.CHECKOUT, folder], check=True)
    (folder / ".venv").symlink_to(places.CHECKOUT / ".venv")
    (folder / ".ringfence-base").symlink_to(folder)
    return folder


def environment(step: Step, deployed: Deployed, clone: Path, stand_in: Path) -> dict[str, str]:
    engine = deployed.engine
    kubeconfig = deployed.up.sandbox.kubeconfig
    values = {
        "matrix.stack": "dev",
        "matrix.context": deployed.up.sandbox.context,
        "secrets.PULUMI_BACKEND_URL": f"file://{engine.backend}",
        "secrets.PULUMI_ACCESS_TOKEN": "",
        "secrets.PULUMI_CONFIG_PASSPHRASE": "",
        "secrets.KUBECONFIG_READ_ONLY": kubeconfig.read_text(),
        "github.token": "a-token",
        "github.repository": "some/repository",
        "github.event.workflow_run.id": "7",
        "github.event.workflow_run.pull_requests[0].number": "5",
    }
    theirs = {
        "STACK": "dev",
        "CONTEXT": deployed.up.sandbox.context,
        "KUBECONFIG_READ_ONLY": str(kubeconfig),
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "5",
        "CI_SERVER_HOST": "gitlab.example",
        "RINGFENCE_NOTE_TOKEN": "a-token",
        "GITHUB_STEP_SUMMARY": str(clone.parent / "summary.md"),
        "STAND_IN": str(stand_in),
        "HOME": str(clone.parent / "home"),
    }
    own = {
        name: re.sub(r"\$\{\{ *(\S+) *\}\}", lambda found: values[found[1]], str(value))
        for name, value in step.env.items()
    }
    base = engine.environment()
    return base | theirs | own | {"PATH": f"{stand_in}{os.pathsep}{base['PATH']}"}


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    for name in ("gh", "glab"):
        (folder / name).write_text(_GH)
    (folder / "make").write_text('#!/bin/sh\necho "make $*" >> "$STAND_IN/calls"\nexec /usr/bin/make -n "$@"\n')
    for tool in ("gh", "glab", "make"):
        (folder / tool).chmod(0o755)
    (folder / "known").write_text("")
    (folder / "report-dev.md").write_text(f"{MARKER}\n\n## dev: nothing changes\n")
    return folder


def execute(step: Step, deployed: Deployed, clone: Path, stand_in: Path) -> subprocess.CompletedProcess[str]:
    """As GitHub does: bash -e on a file."""
    (clone.parent / "home").mkdir()
    script = clone.parent / "step.sh"
    script.write_text(step.script)
    env = environment(step, deployed, clone, stand_in)
    if "comment" in step.name:
        (clone / "report-dev.md").write_text((stand_in / "report-dev.md").read_text())
        if step.file == GITLAB.stem and not (stand_in / "known").read_text():
            (stand_in / "known").write_text("[]")
    return subprocess.run(["bash", "-e", script], cwd=clone, env=env, capture_output=True, text=True, check=False)


@pytest.mark.real
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.file} {step.name}")
def test_every_script_runs(step: Step, deployed: Deployed, clone: Path, stand_in: Path) -> None:
    done = execute(step, deployed, clone, stand_in)
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    if ".kube" in step.script:
        written = (clone.parent / "home" / ".kube" / "config").read_text()
        assert written == deployed.up.sandbox.kubeconfig.read_text()
    if '--out "report-' in step.script:
        assert "## dev: nothing changes" in (clone / "report-dev.md").read_text()
    if "comment" in step.name and "api" in step.script:
        assert (stand_in / "body").read_text().startswith(MARKER)
        assert "POST" in (stand_in / "calls").read_text(), "none was there, so one is made"


@pytest.mark.real
@pytest.mark.parametrize("step", [step for step in STEPS if "api" in step.script], ids=lambda step: step.file)
def test_a_comment_that_is_there_is_edited_in_place(
    step: Step, deployed: Deployed, clone: Path, stand_in: Path
) -> None:
    notes = [[{"id": 1, "body": "hello"}], [{"id": 42, "body": f"{MARKER}\nold"}]]
    known = "42\n" if step.file != GITLAB.stem else "".join(json.dumps(page) for page in notes)
    (stand_in / "known").write_text(known)
    done = execute(step, deployed, clone, stand_in)
    assert done.returncode == 0, done.stderr
    calls = (stand_in / "calls").read_text()
    assert "POST" not in calls
    assert re.search(r"(PATCH|PUT) \S*/42 ", calls)


@pytest.mark.real
@pytest.mark.parametrize("step", [step for step in STEPS if "drift.json" in step.script], ids=lambda step: step.file)
def test_drift_fails_the_job_and_is_reported(step: Step, deployed: Deployed, clone: Path, stand_in: Path) -> None:
    file = clone / "Pulumi.dev.yaml"
    file.write_text(file.read_text().replace("plugin:26.6.0", "plugin:26.7.0"))
    done = execute(step, deployed, clone, stand_in)
    assert done.returncode != 0
    summary = clone.parent / "summary.md"
    said = done.stdout + (summary.read_text() if summary.exists() else "")
    assert "claims check" in step.script, "what was applied by hand is looked at as well"
    assert "plugin:26.6.0` → `cr.openfuyao.cn/openfuyao/npu-dra-plugin:26.7.0`" in said
