"""The script tells what is there, in every shell there is, and leaves out what it cannot read."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.preflight.facts import SCRIPT, Facts, NoFactsError, parse, script
from tests.components.preflight.roots import GOOD, GOOD_FACTS, root, run

FOUND = {
    Path(path).resolve(): words
    for words in (("sh",), ("dash",), ("bash", "--posix"), ("busybox", "sh"), ("ksh",), ("mksh",), ("yash",))
    if (path := shutil.which(words[0]))
}
SHELLS = list(FOUND.values())
LINUX = "[    0.000000] Linux version 6.6.0\n[    1.0] something else"
TMM = "[    1.234] kvm [1]: TMM feature0: 0x30\n"

# What is changed on the good host → which facts are then other ones.
VARIANTS: list[tuple[dict[str, str | None], dict[str, Any]]] = [
    ({"proc/sys/kernel/osrelease": None}, {"kernel": None}),
    ({"proc/cmdline": "ro quiet\n"}, {"cmdline": ()}),
    ({"proc/cmdline": None}, {"cmdline": None}),
    ({"proc/meminfo": None, "proc/cpuinfo": None}, {"memory_kib": None, "cpus": None}),
    ({"sys/fs/selinux/enforce": "1"}, {"selinux": "enforcing"}),
    ({"sys/fs/selinux/enforce": None}, {"selinux": None}),
    ({"sys/fs/selinux/enforce": None, "proc/filesystems": "\text4\n"}, {"selinux": "disabled"}),
    ({"proc/77/comm": "firewalld\n"}, {"processes": frozenset({"containerd", "kubelet", "firewalld"})}),
    ({"proc/1/comm": None}, {"processes": None}),
    ({"usr/local/bin/containerd": None}, {"containerd": {}}),
    ({"usr/local/bin/containerd": "#!/bin/sh\nexit 127\n"}, {"containerd": {}}),
    (
        {"usr/bin/containerd": "#!/bin/sh\necho containerd containerd.io 1.6.33 d2d58213\n"},
        {"containerd": {"/usr/local/bin/containerd": "1.7.27", "/usr/bin/containerd": "1.6.33"}},
    ),
    ({"etc/containerd/config.toml": None}, {"containerd_config": "absent", "config": {}}),
    (
        {"etc/containerd/config.toml": '# disabled_plugins = ["cri"]\nversion = 3 # new\n'},
        {"config": {"version": "3"}},
    ),
    (
        {"etc/containerd/config.toml": 'version = 2\ndisabled_plugins = [\n  "cri", # off\n  "x",\n]\nroot = "/"\n'},
        {"config": {"version": "2", "disabled_plugins": '[   "cri",   "x", ]'}},
    ),
    (
        {"etc/containerd/config.toml": 'version = 2\n[proxy_plugins]\n  [proxy_plugins.nydus]\n    type = "x"\n'},
        {"config": {"version": "2", "nydus": "present"}},
    ),
    ({"etc/containerd/config.toml.bak": GOOD["etc/containerd/config.toml"]}, {"containerd_backup": "same"}),
    ({"etc/containerd/config.toml.bak": "version = 2\n"}, {"containerd_backup": "differs"}),
    ({"opt/kata/VERSION": "3.15.0\n"}, {"presence": {"kata": True}, "kata_version": "3.15.0"}),
    ({"var/lib/containerd-nydus/snapshots/1": ""}, {"presence": {"nydus": True}}),
    ({"etc/systemd/system/nydus-snapshotter.service": ""}, {"presence": {"nydus": True}}),
    ({"var/lib/rancher/rke2/x": ""}, {"presence": {"rke2": True}}),
    ({"etc/rancher/k3s/x": ""}, {"presence": {"k3s": True}}),
    ({"etc/cdi/vfio.json": "{}", "etc/cdi/a.yaml": ""}, {"cdi": ("a.yaml", "vfio.json")}),
    ({"dev/kvm": None}, {"presence": {"kvm": False}}),
    ({"sys/kernel/tmm/virtcca_enabled": "0\n"}, {"virtcca_enabled": False}),
    (
        {"sys/kernel/tmm/virtcca_enabled": None, "sys/kernel/tmm/memory_info": None},
        {"virtcca_enabled": None, "secure_size": {}, "secure_free": {}},
    ),
    ({"sys/kernel/tmm/memory_info": "available: 0 numa nodes ()\n"}, {"secure_size": {}, "secure_free": {}}),
    ({"var/log/messages": f"kernel: {TMM}"}, {"tmm_feature0": "0x30"}),
    ({f"sys/kernel/iommu_groups/{n}/type": None for n in range(2)}, {"iommu_groups": None}),
]


def expected(changes: dict[str, Any]) -> Facts:
    if "presence" in changes:
        changes = changes | {"presence": {**GOOD_FACTS.presence, **changes["presence"]}}
    return replace(GOOD_FACTS, **changes)


def told(folder: Path, files: dict[str, str | None], shell: tuple[str, ...]) -> Facts:
    found = parse(run(root(folder / "host", files), shell))
    # Its dmesg is its own, and not the test's.
    return replace(found, kernel_log_whole=False) if "busybox" in shell else found


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_it_tells_all_of_a_host_in_every_shell(tmp_path: Path, shell: tuple[str, ...]) -> None:
    assert told(tmp_path, {}, shell) == GOOD_FACTS


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(("files", "changes"), VARIANTS, ids=[" ".join(files) for files, _ in VARIANTS])
def test_a_host_that_differs_is_told_as_it_is(
    tmp_path: Path, shell: tuple[str, ...], files: dict[str, str | None], changes: dict[str, Any]
) -> None:
    assert told(tmp_path, files, shell) == expected(changes)


@pytest.mark.parametrize(
    ("log", "changes"),
    [
        (LINUX, {"kernel_log_whole": True}),
        (f"{LINUX}\n{TMM}", {"kernel_log_whole": True, "tmm_feature0": "0x30"}),
        ("[ 99.9] its beginning has been overwritten", {}),
        (None, {}),
    ],
)
def test_only_a_kernel_log_with_its_beginning_is_called_whole(
    tmp_path: Path, log: str | None, changes: dict[str, Any]
) -> None:
    assert parse(run(root(tmp_path / "host"), dmesg=log)) == expected(changes)


def test_an_old_file_of_another_boot_does_not_stand_for_the_running_kernels_log(tmp_path: Path) -> None:
    found = parse(run(root(tmp_path / "host", {"var/log/messages": "host kernel: Linux version 6.6.0\n"})))
    assert not found.kernel_log_whole


def test_no_other_kernel_parameter_is_told(tmp_path: Path) -> None:
    assert "secret" not in run(root(tmp_path / "host")), "what is printed goes into logs and into a stack's state"


def test_an_empty_root_is_a_host_of_which_nearly_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    found = parse(run(tmp_path / "host"))
    assert found.memory_kib is None
    assert found.processes is None
    assert found.containerd_config == "absent"


def test_it_changes_nothing(tmp_path: Path) -> None:
    host = root(tmp_path / "host")

    def state() -> list[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in host.rglob("*"))

    before = state()
    run(host)
    assert state() == before


def test_on_standard_input_it_runs_to_its_end(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-s", "--", str(root(tmp_path / "host"))], input=script(), capture_output=True, text=True, check=True
    )
    assert parse(done.stdout).arch == "aarch64"


def test_this_very_machine_can_be_read() -> None:
    done = subprocess.run(["sh", str(SCRIPT)], capture_output=True, text=True, check=True)
    found = parse(done.stdout)
    assert found.cpus
    assert found.inotify_watches, "some shells cannot read files of /proc/sys"
    assert found.overcommit is not None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "the script did not run there, and nothing was said."),
        ("sh: not found\n", "the script did not run there: sh: not found."),
        ("facts=1\narch=aarch64\n", "the script was cut short there: facts=1 / arch=aarch64."),
    ],
)
def test_what_is_no_output_of_the_script_is_told(said: str, why: str) -> None:
    with pytest.raises(NoFactsError) as caught:
        parse(said)
    assert str(caught.value) == why


def test_a_greeting_of_the_login_shell_is_passed_over() -> None:
    assert parse("Welcome! arch=x86_64\nfacts=1\narch=aarch64\nend=1\n").arch == "aarch64"
