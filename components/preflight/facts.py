"""What `facts.sh` printed, as data. What it could not read is None, or missing from a list; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).with_name("facts.sh")


class NoFactsError(Exception):
    """What came back is not what the script prints. The text says so for a user, with the end of what came."""


@cache
def script() -> str:
    """The text of facts.sh: for `sh -s`, or for `sh -c SCRIPT sh ROOT`."""
    return SCRIPT.read_text(encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Of one host. Sizes are in the unit of their name.

    cmdline: the kernel parameters of virtCCA, SMMU and VFIO. processes: those that matter here; None where they cannot
    be seen. presence: what was looked for → whether it is there. containerd: path of a binary → its version. config:
    keys of containerd's config.toml, as written there. secure_size, secure_free: MiB of secure memory by NUMA node.
    """

    arch: str | None = None
    os: str | None = None
    kernel: str | None = None
    cmdline: Sequence[str] | None = None
    memory_kib: int | None = None
    cpus: int | None = None
    numa_nodes: Sequence[int] = ()
    inotify_instances: int | None = None
    inotify_watches: int | None = None
    overcommit: int | None = None
    selinux: str | None = None
    processes: frozenset[str] | None = None
    containerd: Mapping[str, str] = field(default_factory=dict)
    containerd_config: str | None = None
    containerd_backup: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    presence: Mapping[str, bool] = field(default_factory=dict)
    kata_version: str | None = None
    cdi: Sequence[str] = ()
    virtcca_enabled: bool | None = None
    tmm_feature0: str | None = None
    kernel_log_whole: bool = False
    secure_size: Mapping[int, int] = field(default_factory=dict)
    secure_free: Mapping[int, int] = field(default_factory=dict)
    iommu_groups: int | None = None


def parse(text: str) -> Facts:
    """The facts. Lines before the first of the script, such as a greeting by a login shell, are left out."""
    lines = text.splitlines()
    if "facts=1" not in lines:
        raise NoFactsError(f"the script did not run there{_end(lines)}")
    pairs = [line.partition("=")[::2] for line in lines[lines.index("facts=1") :] if "=" in line]
    if ("end", "1") not in pairs:
        raise NoFactsError(f"the script was cut short there{_end(lines)}")
    last = dict(pairs)
    return Facts(
        arch=last.get("arch"),
        os=last.get("os"),
        kernel=last.get("kernel"),
        cmdline=tuple(last["cmdline"].split()) if "cmdline" in last else None,
        memory_kib=_number(last.get("memory_kib")),
        cpus=_number(last.get("cpus")),
        numa_nodes=tuple(sorted(int(value) for key, value in pairs if key == "numa_node" and value.isdigit())),
        inotify_instances=_number(last.get("inotify_instances")),
        inotify_watches=_number(last.get("inotify_watches")),
        overcommit=_number(last.get("overcommit")),
        selinux=last.get("selinux"),
        processes=frozenset(value for key, value in pairs if key == "process") if "processes" in last else None,
        containerd=dict(_split(value) for key, value in pairs if key == "containerd_version"),
        containerd_config=last.get("containerd_config"),
        containerd_backup=last.get("containerd_backup"),
        config={key.removeprefix("config_"): value for key, value in pairs if key.startswith("config_")},
        presence={key: value == "present" for key, value in pairs if key in _PRESENCE},
        kata_version=last.get("kata_version"),
        cdi=tuple(sorted(value for key, value in pairs if key == "cdi")),
        virtcca_enabled={"1": True, "0": False}.get(last.get("virtcca_enabled", "")),
        tmm_feature0=last.get("tmm_feature0"),
        kernel_log_whole=last.get("kernel_log") == "whole",
        secure_size=_by_node(pairs, "secure_size_mib"),
        secure_free=_by_node(pairs, "secure_free_mib"),
        iommu_groups=_number(last.get("iommu_groups")),
    )


_PRESENCE = frozenset({"kata", "nydus", "k3s", "rke2", "k0s", "microk8s", "kvm"})


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _split(value: str) -> tuple[str, str]:
    path, _, version = value.partition(" ")
    return path, version


def _by_node(pairs: Sequence[tuple[str, str]], key: str) -> dict[int, int]:
    found = (re.fullmatch(r"(\d+) (\d+)", value) for name, value in pairs if name == key)
    return {int(match[1]): int(match[2]) for match in found if match is not None}


def _end(lines: Sequence[str]) -> str:
    said = [line for line in lines if line.strip()][-3:]
    return f": {' / '.join(said)}." if said else ", and nothing was said."
