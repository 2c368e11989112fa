"""What lies where in the folder of one sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox import places


@dataclass(frozen=True)
class Layout:
    """The paths of a sandbox. Nothing here exists until someone makes it."""

    name: str
    folder: Path

    @property
    def context(self) -> str:
        """The name of its kubeconfig context, cluster and user."""
        return f"ringfence-{self.name}"

    @property
    def certificates(self) -> Path:
        """See sandbox.pki."""
        return self.folder / "pki"

    @property
    def records(self) -> Path:
        """See sandbox.processes."""
        return self.folder / "run"

    @property
    def ports(self) -> Path:
        """See sandbox.ports."""
        return self.folder / "ports.json"

    @property
    def kubeconfig(self) -> Path:
        """The one for people and programs: cluster administrator."""
        return self.folder / "kubeconfig"

    def kubeconfig_of(self, identity: str) -> Path:
        """The one of a part of the control plane."""
        return self.folder / "kubeconfigs" / f"{identity}.yaml"

    @property
    def scheduler_config(self) -> Path:
        """KubeSchedulerConfiguration."""
        return self.folder / "scheduler.yaml"

    @property
    def etcd_data(self) -> Path:
        """Everything the cluster knows."""
        return self.folder / "etcd"

    @property
    def home(self) -> Path:
        """$HOME of the parts, so that none reads or writes anything of the user's."""
        return self.folder / "home"

    def log(self, part: str) -> Path:
        """What a part says; that of the run before has `.1` behind it."""
        return self.folder / "logs" / f"{part}.log"


def of(name: str) -> Layout:
    """The layout of a sandbox by name. SandboxError for a name that will not do."""
    return Layout(name, places.state_of(name))
