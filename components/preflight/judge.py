"""Facts of a host → a verdict for each thing that confidential containers need. Plain data in, sentences out.

What nobody can read from here (BIOS menus, TMM's version, whether memory modules are placed alike) has no check at all.
Where a rule comes from is with each: "payload" is what cc-operator 0.13.0 installs, "virtCCA" the vendor's manual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from components.preflight.facts import Facts

State = Literal["ok", "failed", "unknown"]

HOST_PARAMETER = "virtcca_cvm_host=1"
PASSTHROUGH_PARAMETERS = ("arm_smmu_v3.disable_ecmdq=1", "vfio_pci.disable_idle_d3=1")
INOTIFY_INSTANCES, INOTIFY_WATCHES = 16384, 524288
MEMORY_KIB = 8 * 10**9 // 1024
CPUS = 2
CRI_NAMES = frozenset({"cri", "io.containerd.grpc.v1.cri"})
OTHER_DISTRIBUTIONS = ("k3s", "rke2", "k0s", "microk8s")


@dataclass(frozen=True)
class Check:
    """name: what was looked at. what: a sentence of what was found. remedy: what to do, "" where all is well."""

    name: str
    state: State
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.what} {self.remedy}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """passthrough: VFIO devices are to be handed to guests. secure_memory_mib: what the largest guest needs.

    installed: the stack's own runtime is on the host already, so that what it left there is no fault.
    """

    passthrough: bool = False
    secure_memory_mib: int = 1024
    installed: bool = False


def judge(facts: Facts, wanted: Requirements) -> list[Check]:
    """Every check, in the order in which one would put things right: the machine, the kernel, containerd, the rest."""
    return [check for rule in _RULES for check in rule(facts, wanted)]


def failed(checks: Iterable[Check]) -> list[Check]:
    """Those that are not as they have to be."""
    return [check for check in checks if check.state == "failed"]


def version_check(name: str, version: str) -> Check:
    """payload: its own containerd settings need 1.7, and its editing of the configuration does not know 2.0's."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        return Check(name, "unknown", f"containerd calls its version {version!r}.", "Compare it with 1.7 by hand.")
    if (int(found[1]), int(found[2])) < (1, 7):
        return Check(
            name, "failed", f"containerd is {version}, and guest pull needs 1.7.", "Install 1.7, such as 1.7.27."
        )
    if int(found[1]) >= 2:
        what = f"containerd is {version}, and the payload of cc-operator 0.13 edits only the configuration of 1.x."
        return Check(name, "failed", what, "Install 1.7, such as 1.7.27.")
    return Check(name, "ok", f"containerd is {version}.")


def _architecture(facts: Facts, _: Requirements) -> Iterable[Check]:
    """virtCCA is a feature of Kunpeng processors."""
    if facts.arch is None:
        yield Check("architecture", "unknown", "it could not be read.", "See uname -m on the host.")
    elif facts.arch in {"aarch64", "arm64"}:
        yield Check("architecture", "ok", f"{facts.arch}.")
    else:
        yield Check(
            "architecture", "failed", f"{facts.arch}, and virtCCA is for arm64.", "Take this host off the list."
        )


def _memory(facts: Facts, _: Requirements) -> Iterable[Check]:
    """confidential-containers' prerequisites: 8 GB and two processors. Secure memory does not count as memory here."""
    if facts.memory_kib is None:
        yield Check("memory", "unknown", "/proc/meminfo could not be read.", "See free -m on the host.")
    elif facts.memory_kib < MEMORY_KIB:
        what = f"the kernel has {facts.memory_kib // 1024} MiB, and 8 GB are needed besides the secure memory."
        yield Check("memory", "failed", what, "Give less to secure memory in the BIOS, or add memory.")
    else:
        yield Check("memory", "ok", f"the kernel has {facts.memory_kib // 1024} MiB.")
    if facts.cpus is None:
        yield Check("processors", "unknown", "/proc/cpuinfo could not be read.", "See nproc on the host.")
    elif facts.cpus < CPUS:
        yield Check("processors", "failed", f"there is {facts.cpus}, and {CPUS} are needed.", "Take a larger host.")
    else:
        yield Check("processors", "ok", f"there are {facts.cpus}.")


def _kernel_parameters(facts: Facts, wanted: Requirements) -> Iterable[Check]:
    """virtCCA: the host's kernel makes cVMs only with this parameter; passthrough wants two more."""
    name = "kernel parameters"
    needed = [HOST_PARAMETER, *(PASSTHROUGH_PARAMETERS if wanted.passthrough else ())]
    if facts.cmdline is None:
        yield Check(name, "unknown", "/proc/cmdline could not be read.", f"Look there for {' '.join(needed)}.")
        return
    lacking = [one for one in needed if one not in facts.cmdline]
    if lacking:
        remedy = "Add it to the boot loader's configuration and reboot."
        yield Check(name, "failed", f"the kernel was booted without {' '.join(lacking)}.", remedy)
    else:
        yield Check(name, "ok", f"booted with {' '.join(needed)}.")


def _virtcca(facts: Facts, _: Requirements) -> Iterable[Check]:
    """The module tmm_driver shows whether virtCCA is on; KVM logs "TMM feature0" at boot if it has found the TMM."""
    if facts.presence.get("kvm") is False:
        remedy = "Enable virtualisation in the BIOS, and the kernel's KVM."
        yield Check("virtCCA", "failed", "there is no /dev/kvm.", remedy)
    elif facts.virtcca_enabled is True:
        yield Check("virtCCA", "ok", "the kernel says that it is enabled.")
    elif facts.virtcca_enabled is False:
        yield Check("virtCCA", "failed", "the kernel says that it is not enabled.", _FIRMWARE)
    elif facts.tmm_feature0 is not None:
        yield Check("virtCCA", "ok", f"KVM has found the TMM (feature0 {facts.tmm_feature0}).")
    elif facts.kernel_log_whole:
        yield Check("virtCCA", "failed", "KVM did not find the TMM when the host was booted.", _FIRMWARE)
    else:
        what = "/sys/kernel/tmm is not there, and the start of the kernel's log could not be read."
        yield Check("virtCCA", "unknown", what, "Load tmm_driver, or look for 'TMM feature0' in dmesg as root.")


_FIRMWARE = (
    "Enable TEE and secure memory in the BIOS, with a TMM firmware from the vendor, and boot with virtcca_cvm_host=1."
)


def _secure_memory(facts: Facts, wanted: Requirements) -> Iterable[Check]:
    """virtCCA: a guest's secure memory is at least 1 GB, in steps of 2 MB, and of one NUMA node."""
    name, needed = "secure memory", wanted.secure_memory_mib
    if not facts.secure_size:
        what = "/sys/kernel/tmm/memory_info could not be read, and nothing else tells."
        yield Check(name, "unknown", what, "Load the vendor's module tmm_driver, or see the BIOS.")
        return
    sizes = ", ".join(f"node {node} {size} MiB" for node, size in sorted(facts.secure_size.items()))
    if max(facts.secure_size.values()) < needed:
        what = f"no NUMA node has {needed} MiB of it for a guest ({sizes})."
        yield Check(name, "failed", what, "Give more memory to secure memory in the BIOS.")
    elif facts.secure_free and max(facts.secure_free.values()) < needed and not wanted.installed:
        free = max(facts.secure_free.values())
        what = f"no NUMA node has {needed} MiB free, the most is {free} MiB ({sizes})."
        yield Check(name, "failed", what, "End the guests that have it, or give more to secure memory in the BIOS.")
    else:
        yield Check(name, "ok", f"{sizes}.")


def _containerd(facts: Facts, _: Requirements) -> Iterable[Check]:
    """payload: see version_check. Which of two binaries runs cannot be seen, so both have to do."""
    checks = [version_check("containerd", version) for version in dict.fromkeys(facts.containerd.values())]
    if not checks:
        what = "no binary in /usr/local/bin or /usr/bin told its version."
        yield Check("containerd", "unknown", what, "It has to be 1.7: see containerd --version on the host.")
    elif len(checks) == 1 or all(check.state == "failed" for check in checks):
        yield checks[0]
    elif all(check.state == "ok" for check in checks):
        yield Check("containerd", "ok", f"containerd is {' and '.join(facts.containerd.values())}.")
    else:
        both = " and ".join(f"{version} ({path})" for path, version in facts.containerd.items())
        yield Check("containerd", "unknown", f"it is there twice: {both}.", "Remove the one that does not run.")


def _configuration(facts: Facts, _: Requirements) -> Iterable[Check]:
    """payload: it edits /etc/containerd/config.toml, that of 1.x, and what is not there it cannot edit.

    A distribution's own file may switch the kubelet's plugin off (cc-operator#139).
    """
    name = "containerd configuration"
    if facts.containerd_config == "absent":
        what = "there is no /etc/containerd/config.toml, which the payload edits."
        yield Check(name, "failed", what, "Make one: containerd config default > /etc/containerd/config.toml.")
        return
    if facts.containerd_config != "present":
        what = "/etc/containerd/config.toml could not be read."
        yield Check(name, "unknown", what, "Run this as one who may read it.")
        return
    disabled = set(re.findall(r"""["']([^"']+)["']""", facts.config.get("disabled_plugins", ""))) & CRI_NAMES
    version = facts.config.get("version", "")
    if disabled:
        what = f"config.toml disables the plugin {', '.join(sorted(disabled))}, without which no kubelet works."
        yield Check(name, "failed", what, "Take it out of disabled_plugins and restart containerd.")
    elif version.isdigit() and int(version) > 2:
        what = f"config.toml is of version {version}, that of containerd 2, which the payload cannot edit."
        yield Check(name, "failed", what, "Write one of version 2, with containerd 1.7.")
    elif version != "2":
        what = "config.toml says no version 2, and the tables that the payload edits are of version 2."
        yield Check(name, "unknown", what, "See whether it has a table io.containerd.grpc.v1.cri.")
    else:
        yield Check(name, "ok", "config.toml is of version 2 and disables no plugin that is needed.")


def _backup(facts: Facts, wanted: Requirements) -> Iterable[Check]:
    """kata-deploy keeps a backup that is there already, and restores it when it is removed."""
    name = "containerd backup"
    if facts.containerd_backup is None:
        yield Check(name, "unknown", "/etc/containerd could not be looked into.", "Look for a config.toml.bak in it.")
    elif facts.containerd_backup == "differs" and not wanted.installed:
        what = "an old config.toml.bak differs from config.toml, and would be put back when Kata is removed."
        yield Check(name, "failed", what, "Remove /etc/containerd/config.toml.bak, or bring it up to date.")
    else:
        yield Check(name, "ok", "there is no old config.toml.bak that would be put back.")


def _remains(facts: Facts, wanted: Requirements) -> Iterable[Check]:
    """Two installers that edit the same file end with a node that is NotReady (cc-operator#481, kata#10924)."""
    for name, key, where in (
        ("Kata", "kata", "/opt/kata"),
        ("nydus", "nydus", "nydus-snapshotter.service, /opt/confidential-containers or /var/lib/containerd-nydus"),
    ):
        there = facts.presence.get(key)
        if there is None:
            yield Check(name, "unknown", "whether it is installed could not be seen.", f"Look for {where}.")
        elif there and not wanted.installed:
            version = f" {facts.kata_version}" if key == "kata" and facts.kata_version else ""
            what = f"{name}{version} is there already ({where})."
            yield Check(name, "failed", what, "Remove it with what installed it, or say that it is this stack's.")
        elif there:
            yield Check(name, "ok", "it is there, of this stack's installation.")
        else:
            yield Check(name, "ok", "nothing of an earlier installation is there.")


def _selinux(facts: Facts, _: Requirements) -> Iterable[Check]:
    """confidential-containers' prerequisites: SELinux does not enforce."""
    if facts.selinux is None:
        yield Check("SELinux", "unknown", "its mode could not be read.", "It must not be Enforcing: see getenforce.")
    elif facts.selinux == "enforcing":
        remedy = "setenforce 0, and SELINUX=permissive in /etc/selinux/config."
        yield Check("SELinux", "failed", "it is enforcing.", remedy)
    else:
        yield Check("SELinux", "ok", f"it is {facts.selinux}.")


def _sysctls(facts: Facts, _: Requirements) -> Iterable[Check]:
    """virtCCA's manual: the inotify limits, and memory that may be promised beyond what there is."""
    for key, found, least in (
        ("fs.inotify.max_user_instances", facts.inotify_instances, INOTIFY_INSTANCES),
        ("fs.inotify.max_user_watches", facts.inotify_watches, INOTIFY_WATCHES),
    ):
        if found is None:
            yield Check(key, "unknown", "it could not be read.", f"It has to be at least {least}.")
        elif found < least:
            yield Check(key, "failed", f"it is {found}, and {least} is needed.", _sysctl(key, least))
        else:
            yield Check(key, "ok", f"it is {found}.")
    key = "vm.overcommit_memory"
    if facts.overcommit is None:
        yield Check(key, "unknown", "it could not be read.", "It has to be 1.")
    elif facts.overcommit != 1:
        yield Check(key, "failed", f"it is {facts.overcommit}, and has to be 1.", _sysctl(key, 1))
    else:
        yield Check(key, "ok", "it is 1.")


def _sysctl(key: str, value: int) -> str:
    return f"sysctl -w {key}={value}, and the same in /etc/sysctl.d."


def _firewalld(facts: Facts, _: Requirements) -> Iterable[Check]:
    """The environment that virtCCA's manual was written for: firewalld is off."""
    if facts.processes is None:
        yield Check(
            "firewalld", "unknown", "processes cannot be seen from there.", "See systemctl is-active firewalld."
        )
    elif "firewalld" in facts.processes:
        yield Check("firewalld", "failed", "it runs.", "systemctl disable --now firewalld, or open what pods need.")
    else:
        yield Check("firewalld", "ok", "it does not run.")


def _distribution(facts: Facts, _: Requirements) -> Iterable[Check]:
    """payload: containerd's paths are those of plain Kubernetes and no others (cc-operator#523, #467)."""
    name = "distribution"
    others = [one for one in OTHER_DISTRIBUTIONS if facts.presence.get(one)]
    if others:
        what = f"there is {' and '.join(others)}, whose containerd the payload does not find."
        yield Check(name, "failed", what, "Take a host with plain Kubernetes, such as openFuyao's.")
    elif not all(one in facts.presence for one in OTHER_DISTRIBUTIONS):
        yield Check(name, "unknown", "it could not be seen.", "The payload needs /etc/containerd and /usr/local/bin.")
    elif facts.processes is not None and "crio" in facts.processes and "containerd" not in facts.processes:
        what = "CRI-O runs and containerd does not."
        yield Check(
            name, "unknown", what, "Images can be pulled in the guest only with containerd's nydus snapshotter."
        )
    else:
        yield Check(name, "ok", "no other distribution than plain Kubernetes is there.")


def _passthrough(facts: Facts, wanted: Requirements) -> Iterable[Check]:
    """virtCCA: the BIOS' Support Smmu enabled; CDI specs in /etc/cdi name the devices that a pod may ask for."""
    if not wanted.passthrough:
        return
    if facts.iommu_groups is None:
        yield Check("SMMU", "unknown", "/sys/kernel/iommu_groups could not be read.", _SMMU)
    elif facts.iommu_groups == 0:
        yield Check("SMMU", "failed", "no device is behind it.", _SMMU)
    else:
        yield Check("SMMU", "ok", f"there are {facts.iommu_groups} IOMMU groups.")
    if facts.cdi:
        yield Check("CDI", "ok", f"/etc/cdi has {', '.join(facts.cdi)}.")
    else:
        what = "/etc/cdi has no spec, so no pod can ask for a device."
        yield Check("CDI", "failed", what, "Write one for the devices that are to be handed through.")


_SMMU = "In the BIOS, set Advanced > MISC Config > Support Smmu to Enabled."

_RULES: Sequence[Callable[[Facts, Requirements], Iterable[Check]]] = (
    _architecture,
    _memory,
    _kernel_parameters,
    _virtcca,
    _secure_memory,
    _passthrough,
    _containerd,
    _configuration,
    _backup,
    _remains,
    _distribution,
    _selinux,
    _sysctls,
    _firewalld,
)
