"""Each thing that a host needs is ok, failed with its remedy, or said to be unknown; nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from components.preflight.facts import Facts
from components.preflight.judge import Check, Requirements, judge
from tests.components.preflight.roots import GOOD_FACTS, facts

PLAIN = Requirements()
PASSTHROUGH = Requirements(passthrough=True)
INSTALLED = Requirements(installed=True)

WITHOUT_TMM: dict[str, Any] = {"virtcca_enabled": None, "secure_size": {}, "secure_free": {}}
FLAGS = ("virtcca_cvm_host=1", "arm_smmu_v3.disable_ecmdq=1", "vfio_pci.disable_idle_d3=1")


def presence(**changes: bool) -> dict[str, Any]:
    return {"presence": {**GOOD_FACTS.presence, **changes}}


# What is changed in the good host's facts, what is wanted, and the one check as it is then told.
CASES: list[tuple[dict[str, Any], Requirements, str, str]] = [
    ({}, PLAIN, "ok", "architecture: aarch64."),
    (
        {"arch": "x86_64"},
        PLAIN,
        "failed",
        "architecture: x86_64, and virtCCA is for arm64. Take this host off the list.",
    ),
    ({"arch": None}, PLAIN, "unknown", "architecture: it could not be read. See uname -m on the host."),
    ({}, PLAIN, "ok", "memory: the kernel has 257628 MiB."),
    (
        {"memory_kib": 4000000},
        PLAIN,
        "failed",
        "memory: the kernel has 3906 MiB, and 8 GB are needed besides the secure memory. "
        "Give less to secure memory in the BIOS, or add memory.",
    ),
    ({"memory_kib": None}, PLAIN, "unknown", "memory: /proc/meminfo could not be read. See free -m on the host."),
    ({"cpus": 1}, PLAIN, "failed", "processors: there is 1, and 2 are needed. Take a larger host."),
    ({"cpus": None}, PLAIN, "unknown", "processors: /proc/cpuinfo could not be read. See nproc on the host."),
    ({"cpus": 2}, PLAIN, "ok", "processors: there are 2."),
    ({}, PLAIN, "ok", "kernel parameters: booted with virtcca_cvm_host=1."),
    (
        {"cmdline": ("virtcca_cvm_host=0",)},
        PLAIN,
        "failed",
        "kernel parameters: the kernel was booted without virtcca_cvm_host=1. "
        "Add it to the boot loader's configuration and reboot.",
    ),
    (
        {},
        PASSTHROUGH,
        "failed",
        "kernel parameters: the kernel was booted without arm_smmu_v3.disable_ecmdq=1 vfio_pci.disable_idle_d3=1. "
        "Add it to the boot loader's configuration and reboot.",
    ),
    ({"cmdline": FLAGS}, PASSTHROUGH, "ok", f"kernel parameters: booted with {' '.join(FLAGS)}."),
    (
        {"cmdline": None},
        PLAIN,
        "unknown",
        "kernel parameters: /proc/cmdline could not be read. Look there for virtcca_cvm_host=1.",
    ),
    ({}, PLAIN, "ok", "virtCCA: the kernel says that it is enabled."),
    (
        {"virtcca_enabled": False},
        PLAIN,
        "failed",
        "virtCCA: the kernel says that it is not enabled. Enable TEE and secure memory in the BIOS, with a TMM "
        "firmware "
        "from the vendor, and boot with virtcca_cvm_host=1.",
    ),
    (
        presence(kvm=False),
        PLAIN,
        "failed",
        "virtCCA: there is no /dev/kvm. Enable virtualisation in the BIOS, and the kernel's KVM.",
    ),
    (WITHOUT_TMM | {"tmm_feature0": "0x30"}, PLAIN, "ok", "virtCCA: KVM has found the TMM (feature0 0x30)."),
    (
        WITHOUT_TMM | {"kernel_log_whole": True},
        PLAIN,
        "failed",
        "virtCCA: KVM did not find the TMM when the host was booted. Enable TEE and secure memory in the BIOS, with "
        "a TMM "
        "firmware from the vendor, and boot with virtcca_cvm_host=1.",
    ),
    (
        WITHOUT_TMM,
        PLAIN,
        "unknown",
        "virtCCA: /sys/kernel/tmm is not there, and the start of the kernel's log could not be read. "
        "Load tmm_driver, or look for 'TMM feature0' in dmesg as root.",
    ),
    ({}, PLAIN, "ok", "secure memory: node 0 65536 MiB, node 1 65536 MiB."),
    (
        WITHOUT_TMM,
        PLAIN,
        "unknown",
        "secure memory: /sys/kernel/tmm/memory_info could not be read, and nothing else tells. "
        "Load the vendor's module tmm_driver, or see the BIOS.",
    ),
    (
        {"secure_size": {0: 512, 1: 512}},
        PLAIN,
        "failed",
        "secure memory: no NUMA node has 1024 MiB of it for a guest (node 0 512 MiB, node 1 512 MiB). "
        "Give more memory to secure memory in the BIOS.",
    ),
    (
        {},
        Requirements(secure_memory_mib=65536 + 2),
        "failed",
        "secure memory: no NUMA node has 65538 MiB of it for a guest (node 0 65536 MiB, node 1 65536 MiB). "
        "Give more memory to secure memory in the BIOS.",
    ),
    (
        {"secure_free": {0: 100, 1: 200}},
        PLAIN,
        "failed",
        "secure memory: no NUMA node has 1024 MiB free, the most is 200 MiB (node 0 65536 MiB, node 1 65536 MiB). "
        "End the guests that have it, or give more to secure memory in the BIOS.",
    ),
    ({"secure_free": {0: 100}}, INSTALLED, "ok", "secure memory: node 0 65536 MiB, node 1 65536 MiB."),
    ({}, PASSTHROUGH, "ok", "SMMU: there are 2 IOMMU groups."),
    (
        {"iommu_groups": 0},
        PASSTHROUGH,
        "failed",
        "SMMU: no device is behind it. In the BIOS, set Advanced > MISC Config > Support Smmu to Enabled.",
    ),
    (
        {"iommu_groups": None},
        PASSTHROUGH,
        "unknown",
        "SMMU: /sys/kernel/iommu_groups could not be read. In the BIOS, set Advanced > MISC Config > Support Smmu to "
        "Enabled.",
    ),
    ({"cdi": ("npu.json",)}, PASSTHROUGH, "ok", "CDI: /etc/cdi has npu.json."),
    (
        {},
        PASSTHROUGH,
        "failed",
        "CDI: /etc/cdi has no spec, so no pod can ask for a device. "
        "Write one for the devices that are to be handed through.",
    ),
    ({}, PLAIN, "ok", "containerd: containerd is 1.7.27."),
    (
        {"containerd": {"/usr/bin/containerd": "1.6.33"}},
        PLAIN,
        "failed",
        "containerd: containerd is 1.6.33, and guest pull needs 1.7. Install 1.7, such as 1.7.27.",
    ),
    (
        {"containerd": {"/usr/bin/containerd": "2.0.0-rc.1"}},
        PLAIN,
        "failed",
        "containerd: containerd is 2.0.0-rc.1, and the payload of cc-operator 0.13 edits only the configuration of "
        "1.x. "
        "Install 1.7, such as 1.7.27.",
    ),
    (
        {"containerd": {"/usr/bin/containerd": "HEAD"}},
        PLAIN,
        "unknown",
        "containerd: containerd calls its version 'HEAD'. Compare it with 1.7 by hand.",
    ),
    (
        {"containerd": {}},
        PLAIN,
        "unknown",
        "containerd: no binary in /usr/local/bin or /usr/bin told its version. "
        "It has to be 1.7: see containerd --version on the host.",
    ),
    (
        {"containerd": {"/usr/local/bin/containerd": "1.7.27", "/usr/bin/containerd": "1.6.33"}},
        PLAIN,
        "unknown",
        "containerd: it is there twice: 1.7.27 (/usr/local/bin/containerd) and 1.6.33 (/usr/bin/containerd). "
        "Remove the one that does not run.",
    ),
    ({}, PLAIN, "ok", "containerd configuration: config.toml is of version 2 and disables no plugin that is needed."),
    (
        {"containerd_config": "absent", "config": {}},
        PLAIN,
        "failed",
        "containerd configuration: there is no /etc/containerd/config.toml, which the payload edits. "
        "Make one: containerd config default > /etc/containerd/config.toml.",
    ),
    (
        {"containerd_config": "unreadable", "config": {}},
        PLAIN,
        "unknown",
        "containerd configuration: /etc/containerd/config.toml could not be read. Run this as one who may read it.",
    ),
    (
        {"config": {"disabled_plugins": '["cri"]'}},
        PLAIN,
        "failed",
        "containerd configuration: config.toml disables the plugin cri, without which no kubelet works. "
        "Take it out of disabled_plugins and restart containerd.",
    ),
    (
        {"config": {"version": "2", "disabled_plugins": "['io.containerd.grpc.v1.cri']"}},
        PLAIN,
        "failed",
        "containerd configuration: config.toml disables the plugin io.containerd.grpc.v1.cri, without which no kubelet "
        "works. Take it out of disabled_plugins and restart containerd.",
    ),
    (
        {"config": {"version": "3"}},
        PLAIN,
        "failed",
        "containerd configuration: config.toml is of version 3, that of containerd 2, which the payload cannot edit. "
        "Write one of version 2, with containerd 1.7.",
    ),
    (
        {"config": {"disabled_plugins": '["btrfs"]'}},
        PLAIN,
        "unknown",
        "containerd configuration: config.toml says no version 2, and the tables that the payload edits are of "
        "version 2. "
        "See whether it has a table io.containerd.grpc.v1.cri.",
    ),
    ({}, PLAIN, "ok", "containerd backup: there is no old config.toml.bak that would be put back."),
    (
        {"containerd_backup": "differs"},
        PLAIN,
        "failed",
        "containerd backup: an old config.toml.bak differs from config.toml, and would be put back when Kata is "
        "removed. "
        "Remove /etc/containerd/config.toml.bak, or bring it up to date.",
    ),
    (
        {"containerd_backup": "differs"},
        INSTALLED,
        "ok",
        "containerd backup: there is no old config.toml.bak that would be put back.",
    ),
    (
        {"containerd_backup": None},
        PLAIN,
        "unknown",
        "containerd backup: /etc/containerd could not be looked into. Look for a config.toml.bak in it.",
    ),
    ({}, PLAIN, "ok", "Kata: nothing of an earlier installation is there."),
    (
        presence(kata=True) | {"kata_version": "3.2.0"},
        PLAIN,
        "failed",
        "Kata: Kata 3.2.0 is there already (/opt/kata). Remove it with what installed it, or say that it is this "
        "stack's.",
    ),
    (presence(kata=True), INSTALLED, "ok", "Kata: it is there, of this stack's installation."),
    (
        {"presence": {}},
        PLAIN,
        "unknown",
        "Kata: whether it is installed could not be seen. Look for /opt/kata.",
    ),
    (
        presence(nydus=True),
        PLAIN,
        "failed",
        "nydus: nydus is there already (nydus-snapshotter.service, /opt/confidential-containers or "
        "/var/lib/containerd-nydus). Remove it with what installed it, or say that it is this stack's.",
    ),
    ({}, PLAIN, "ok", "distribution: no other distribution than plain Kubernetes is there."),
    (
        presence(rke2=True, k3s=True),
        PLAIN,
        "failed",
        "distribution: there is k3s and rke2, whose containerd the payload does not find. "
        "Take a host with plain Kubernetes, such as openFuyao's.",
    ),
    (
        {"processes": frozenset({"crio", "kubelet"})},
        PLAIN,
        "unknown",
        "distribution: CRI-O runs and containerd does not. "
        "Images can be pulled in the guest only with containerd's nydus snapshotter.",
    ),
    (
        {"presence": {}},
        PLAIN,
        "unknown",
        "distribution: it could not be seen. The payload needs /etc/containerd and /usr/local/bin.",
    ),
    ({"selinux": "disabled"}, PLAIN, "ok", "SELinux: it is disabled."),
    (
        {"selinux": "enforcing"},
        PLAIN,
        "failed",
        "SELinux: it is enforcing. setenforce 0, and SELINUX=permissive in /etc/selinux/config.",
    ),
    (
        {"selinux": None},
        PLAIN,
        "unknown",
        "SELinux: its mode could not be read. It must not be Enforcing: see getenforce.",
    ),
    ({}, PLAIN, "ok", "fs.inotify.max_user_instances: it is 16384."),
    (
        {"inotify_instances": 128},
        PLAIN,
        "failed",
        "fs.inotify.max_user_instances: it is 128, and 16384 is needed. "
        "sysctl -w fs.inotify.max_user_instances=16384, and the same in /etc/sysctl.d.",
    ),
    (
        {"inotify_watches": None},
        PLAIN,
        "unknown",
        "fs.inotify.max_user_watches: it could not be read. It has to be at least 524288.",
    ),
    (
        {"overcommit": 0},
        PLAIN,
        "failed",
        "vm.overcommit_memory: it is 0, and has to be 1. "
        "sysctl -w vm.overcommit_memory=1, and the same in /etc/sysctl.d.",
    ),
    ({"overcommit": None}, PLAIN, "unknown", "vm.overcommit_memory: it could not be read. It has to be 1."),
    ({}, PLAIN, "ok", "firewalld: it does not run."),
    (
        {"processes": frozenset({"firewalld"})},
        PLAIN,
        "failed",
        "firewalld: it runs. systemctl disable --now firewalld, or open what pods need.",
    ),
    (
        {"processes": None},
        PLAIN,
        "unknown",
        "firewalld: processes cannot be seen from there. See systemctl is-active firewalld.",
    ),
]


@pytest.mark.parametrize(("changes", "wanted", "state", "says"), CASES, ids=[f"{c[2]} {c[3][:40]}" for c in CASES])
def test_each_check_says_what_was_found_and_what_to_do(
    changes: dict[str, Any], wanted: Requirements, state: str, says: str
) -> None:
    assert (state, says) in [(check.state, str(check)) for check in judge(facts(**changes), wanted)]


@pytest.mark.parametrize("wanted", [PLAIN, INSTALLED])
def test_a_good_host_has_nothing_to_put_right(wanted: Requirements) -> None:
    checks = judge(GOOD_FACTS, wanted)
    assert [str(check) for check in checks if check.state != "ok"] == []
    assert [check.remedy for check in checks if check.remedy] == [], "a remedy is for what is wrong"


def test_of_a_host_of_which_nothing_is_known_nothing_is_called_good_or_bad() -> None:
    found = {check.name: check.state for check in judge(Facts(), PLAIN)}
    assert set(found.values()) == {"unknown"}, "a guess is never told as a fact"


def test_what_is_not_ok_has_a_remedy_and_every_check_its_own_name() -> None:
    for given in (GOOD_FACTS, Facts()):
        checks = judge(given, PASSTHROUGH)
        assert len({check.name for check in checks}) == len(checks)
        assert all(check.remedy for check in checks if check.state != "ok")


def test_a_check_without_a_remedy_ends_with_what_was_found() -> None:
    assert str(Check("a", "ok", "it is.")) == "a: it is."
