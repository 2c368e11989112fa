"""Root folders as hosts have them, for the script, and facts as it prints them, for the judge."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from components.preflight.facts import SCRIPT, Facts

# A Kunpeng host that has all that is needed and nothing that is in the way.
GOOD: Mapping[str, str] = {
    "proc/sys/kernel/arch": "aarch64\n",
    "proc/sys/kernel/osrelease": "6.6.0-98.0.0.103.oe2403sp2.aarch64\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/mapper/root virtcca_cvm_host=1 token=secret\n",
    "proc/meminfo": "MemTotal:       263811072 kB\nMemFree:        1 kB\n",
    "proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 200.00\n\nprocessor\t: 1\n\nprocessor\t: 2\n",
    "proc/filesystems": "nodev\tsysfs\nnodev\tselinuxfs\n\text4\n",
    "proc/1/comm": "systemd\n",
    "proc/812/comm": "containerd\n",
    "proc/913/comm": "kubelet\n",
    "proc/sys/fs/inotify/max_user_instances": "16384\n",
    "proc/sys/fs/inotify/max_user_watches": "524288\n",
    "proc/sys/vm/overcommit_memory": "1\n",
    "sys/devices/system/node/node0/meminfo": "",
    "sys/devices/system/node/node1/meminfo": "",
    "sys/fs/selinux/enforce": "0",
    "sys/kernel/tmm/virtcca_enabled": "1\n",
    "sys/kernel/tmm/memory_info": (
        "available: 2 numa nodes (0 1)\n"
        "numa node 0 size:                  65536Mi\n"
        "numa node 0 free:                  63488Mi\n"
        "numa node 0 cvm used:              0Mi\n"
        "numa node 0 meta_data used:        2048Mi\n"
        "numa node 1 size:                  65536Mi\n"
        "numa node 1 free:                  65000Mi\n"
        "numa node 1 cvm used:              0Mi\n"
    ),
    "sys/kernel/iommu_groups/0/type": "DMA\n",
    "sys/kernel/iommu_groups/1/type": "DMA\n",
    "dev/kvm": "",
    "etc/os-release": 'NAME="openEuler"\nPRETTY_NAME="openEuler 24.03 (LTS-SP2)"\n',
    "etc/containerd/config.toml": (
        'version = 2\ndisabled_plugins = []\nimports = ["/etc/containerd/conf.d/*.toml"]\n'
        '[plugins."io.containerd.grpc.v1.cri".containerd]\n  discard_unpacked_layers = false\n'
    ),
    "usr/local/bin/containerd": (
        "#!/bin/sh\necho containerd github.com/containerd/containerd v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da\n"
    ),
}

GOOD_FACTS = Facts(
    arch="aarch64",
    os="openEuler 24.03 (LTS-SP2)",
    kernel="6.6.0-98.0.0.103.oe2403sp2.aarch64",
    cmdline=("virtcca_cvm_host=1",),
    memory_kib=263811072,
    cpus=3,
    numa_nodes=(0, 1),
    inotify_instances=16384,
    inotify_watches=524288,
    overcommit=1,
    selinux="permissive",
    processes=frozenset({"containerd", "kubelet"}),
    containerd={"/usr/local/bin/containerd": "1.7.27"},
    containerd_config="present",
    containerd_backup="absent",
    config={
        "version": "2",
        "disabled_plugins": "[]",
        "imports": '["/etc/containerd/conf.d/*.toml"]',
        "discard_unpacked_layers": "false",
    },
    presence=dict.fromkeys(("kata", "nydus", "k3s", "rke2", "k0s", "microk8s"), False) | {"kvm": True},
    virtcca_enabled=True,
    secure_size={0: 65536, 1: 65536},
    secure_free={0: 63488, 1: 65000},
    iommu_groups=2,
)


def root(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """The folder with the files of GOOD and others; None leaves one out."""
    for path, text in {**GOOD, **(changes or {})}.items():
        if text is not None:
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if "/bin/" in path else 0o644)
    return folder


def run(folder: Path, shell: tuple[str, ...] = ("sh",), dmesg: str | None = None) -> str:
    """What the script prints of the folder. dmesg: the kernel's log; None where it may not be read."""
    stub = folder.parent / "stub"
    stub.mkdir(exist_ok=True)
    said = f"cat <<'END'\n{dmesg}\nEND" if dmesg is not None else "exit 1"
    (stub / "dmesg").write_text(f"#!/bin/sh\n{said}\n")
    (stub / "dmesg").chmod(0o755)
    environment = os.environ | {"PATH": f"{stub}:{os.environ['PATH']}"}
    done = subprocess.run(
        [*shell, str(SCRIPT), str(folder)], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr == "", "what it cannot read it passes over"
    return done.stdout


def facts(**changes: Any) -> Facts:
    """Those of the good host with some changed."""
    return replace(GOOD_FACTS, **changes)
