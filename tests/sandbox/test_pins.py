from __future__ import annotations

import dataclasses
import platform
import shutil
from pathlib import Path

import pytest

from sandbox import pins, places, versions
from sandbox.pins import Accepted


@pytest.fixture
def copied_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(places.PINS, tmp_path / "pins")
    monkeypatch.setattr(places, "PINS", tmp_path / "pins")
    return tmp_path / "pins"


@pytest.mark.parametrize("program", pins.PROGRAMS + pins.ORACLES + pins.LINTERS, ids=lambda program: program.name)
def test_every_program_has_its_pins(program: pins.Program) -> None:
    assert (program.folder / "go.mod").is_file()
    assert (program.folder / "go.sum").is_file()


def test_the_oracles_differ_in_version_only() -> None:
    texts = {program.name: (program.folder / "main.go").read_text() for program in pins.ORACLES}
    assert "isOnlyForNode" in texts["allocator-oracle-0.34"]
    newer = {text for name, text in texts.items() if name != "allocator-oracle-0.34"}
    assert len(newer) == 1, "what is compared must not depend on which of them is asked"
    for program in pins.ORACLES:
        minor = program.name.removeprefix("allocator-oracle-")
        pinned = f"k8s.io/dynamic-resource-allocation v{minor}."
        assert pinned in (program.folder / "go.mod").read_text(), f"{program.name} is built of another version"


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_a_changed_pin_is_another_build(copied_pins: Path, name: str) -> None:
    program = pins.KUBERNETES_PROVIDER
    before = pins.key(program)
    path = copied_pins / program.name / name
    path.write_text(path.read_text() + "\n")
    assert pins.key(program) != before


def test_other_flags_or_another_machine_are_another_build(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pins.key(pins.ETCD)
    assert pins.key(dataclasses.replace(pins.ETCD, ldflags="")) != before
    assert pins.key(dataclasses.replace(pins.ETCD, minutes=1)) == before, "what it costs does not change what comes out"
    monkeypatch.setattr(platform, "machine", lambda: "other")
    assert pins.key(pins.ETCD) != before


def test_the_versions_said_in_flags_are_those_of_the_pins() -> None:
    kubernetes = (pins.CONTROL_PLANE.folder / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{pins.KUBERNETES}" in kubernetes
    assert f"github.com/pulumi/pulumi/pkg/v3 v{pins.PULUMI}" in (pins.PULUMI_CLI.folder / "go.mod").read_text()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Kubernetes v1.37.2", (1, 37, 2)),
        ("etcd Version: 3.7.3\nGit SHA: x\nGo Version: go1.26.8", (3, 7, 3)),
        ("kwok version v0.7.0 go1.26.8 (linux/amd64)", (0, 7, 0)),
        ("v3.274.1\n", (3, 274, 1)),
        ("3.200.0-alpha.1", (3, 200, 0)),
        ("1.26", (1, 26, 0)),
        ("unknown", None),
    ],
)
def test_versions_are_read_as_programs_print_them(text: str, version: tuple[int, int, int] | None) -> None:
    assert versions.parse(text) == version


@pytest.mark.parametrize(
    ("program", "version", "accepted"),
    [
        (pins.CONTROL_PLANE, (1, 37, 0), True),
        (pins.CONTROL_PLANE, (1, 37, 9), True),
        (pins.CONTROL_PLANE, (1, 36, 9), False),
        (pins.CONTROL_PLANE, (1, 38, 0), False),
        (pins.ETCD, (3, 6, 0), True),
        (pins.ETCD, (3, 5, 21), False),
        (pins.ETCD, (4, 0, 0), True),
        (pins.KWOK, (0, 6, 1), False),
        (pins.KWOK, (0, 7, 0), True),
        (pins.PULUMI_CLI, (3, 199, 0), False),
        (pins.PULUMI_CLI, (3, 200, 0), True),
    ],
)
def test_only_versions_that_are_believed_to_work_are_taken_from_path(
    program: pins.Program, version: tuple[int, int, int], accepted: bool
) -> None:
    assert program.accepted is not None
    assert versions.accepts(program.accepted, version) is accepted


def test_a_user_is_told_which_versions_would_do() -> None:
    assert str(Accepted((), (1, 37), (1, 37))) == "1.37.x"
    assert str(Accepted((), (3, 6))) == "3.6 or newer"
