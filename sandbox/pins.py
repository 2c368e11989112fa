"""The Go programs of the sandbox, as data. Their versions are in the go.mod of each folder of toolchain/."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

from sandbox import places

KUBERNETES = "1.37.2"
PULUMI = "3.274.1"
PROVIDER = "4.25.0"

OLDEST_GO = (1, 26)


@dataclass(frozen=True)
class Accepted:
    """Which versions found on PATH will do.

    ask: arguments that make the binary print its version.
    oldest: compared by its own length, so (3, 6) takes 3.6.0 and 3.10.
    newest: likewise, inclusive; None where newer ones are believed to work.
    """

    ask: tuple[str, ...]
    oldest: tuple[int, ...]
    newest: tuple[int, ...] | None = None

    def __str__(self) -> str:
        oldest = ".".join(map(str, self.oldest))
        if self.newest is None:
            return f"{oldest} or newer"
        newest = ".".join(map(str, self.newest))
        return f"{oldest}.x" if newest == oldest else f"{oldest} to {newest}"


@dataclass(frozen=True)
class Embedded:
    """Files of a module that our main embeds, copied beside it from folder `folder` of `module`.

    version: written into the `version` of `schema.json`, as the provider's own release does.
    """

    module: str
    folder: str
    files: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Program:
    """One go.mod and what is built from it.

    name: its folder in toolchain/.
    packages: binary name → package.
    minutes: what a cold build usually takes on two cores.
    gigabytes: what a cold build needs on disk, Go's own caches included.
    accepted: None where whatever is on PATH will do.
    """

    name: str
    packages: dict[str, str]
    ldflags: str
    minutes: float
    gigabytes: float
    accepted: Accepted | None
    embedded: Embedded | None = None

    @property
    def folder(self) -> Path:
        """Where its go.mod is."""
        return places.PINS / self.name


def _kubernetes_ldflags() -> str:
    package = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES.split(".")
    return f"-s -w -X {package}.gitVersion=v{KUBERNETES} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"


ETCD = Program(
    name="etcd",
    packages={"etcd": "go.etcd.io/etcd/server/v3"},
    ldflags="-s -w",
    minutes=0.5,
    gigabytes=0.5,
    accepted=Accepted(("--version",), (3, 6)),
)

CONTROL_PLANE = Program(
    name="kubernetes",
    packages={
        name: f"k8s.io/kubernetes/cmd/{name}"
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    },
    ldflags=_kubernetes_ldflags(),
    minutes=9,
    gigabytes=2,
    # DRA moves with every minor version: what was measured and proven holds for this one.
    accepted=Accepted(("--version",), (1, 37), (1, 37)),
)

KWOK = Program(
    name="kwok",
    packages={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
    ldflags="-s -w",
    minutes=2,
    gigabytes=0.7,
    accepted=Accepted(("--version",), (0, 7)),
)

PULUMI_CLI = Program(
    name="pulumi",
    packages={"pulumi": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"},
    ldflags=f"-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v{PULUMI}",
    minutes=5.5,
    gigabytes=1.3,
    accepted=Accepted(("version",), (3, 200)),
)

KUBERNETES_PROVIDER = Program(
    name="pulumi-resource-kubernetes",
    packages={"pulumi-resource-kubernetes": "."},
    ldflags=f"-s -w -X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version={PROVIDER}",
    minutes=9,
    gigabytes=1.5,
    accepted=None,
    embedded=Embedded(
        module="github.com/pulumi/pulumi-kubernetes/provider/v4",
        folder="cmd/pulumi-resource-kubernetes",
        files=("schema.json", "terraform-mapping.json"),
        version=PROVIDER,
    ),
)

PROGRAMS = (ETCD, CONTROL_PLANE, KWOK, PULUMI_CLI, KUBERNETES_PROVIDER)
"""In the order in which they are first needed."""


def _oracle(version: str) -> Program:
    name = f"allocator-oracle-{version}"
    return Program(name=name, packages={name: "."}, ldflags="-s -w", minutes=1, gigabytes=0.5, accepted=None)


ORACLES = tuple(_oracle(version) for version in ("0.34", "0.35", "0.36", "0.37"))
"""The scheduler's allocator by version of k8s.io/dynamic-resource-allocation: for tests of our replica, not to run."""


LINTERS = (
    Program(
        name="actionlint",
        packages={"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"},
        ldflags="-s -w",
        minutes=0.5,
        gigabytes=0.3,
        accepted=Accepted(("--version",), (1, 7)),
    ),
)
"""What judges the workflow files of ci/: for tests, not to run."""


def key(program: Program) -> str:
    """What a build is known by in the cache: everything that decides what comes out, Go's own version excepted."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        path = program.folder / name
        digest.update(f"{name}\0".encode())
        digest.update(path.read_bytes() if path.exists() else b"")
    for part in (program.ldflags, repr(sorted(program.packages.items())), repr(program.embedded)):
        digest.update(f"\0{part}".encode())
    digest.update(f"\0{platform.system()}\0{platform.machine()}".encode())
    return digest.hexdigest()[:16]
