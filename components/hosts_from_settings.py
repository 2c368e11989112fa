"""From the sections `fence.preflight` and `fence.artifacts` to the components' Args."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pulumi

from components.artifacts.builds import Build, Product, Source
from components.coco_artifacts import CocoArtifactsArgs
from components.host_preflight import HostPreflightArgs, Jobs
from components.preflight.judge import Requirements
from components.ssh import Host
from settings.artifacts import PAYLOAD, SDK, Artifacts, BuildSettings
from settings.preflight import Preflight, SshHost
from settings.secrets import Secret

_KDEPLOY_WORK = "kata-containers"
_KDEPLOY_MADE = "registry.hw.com:5000/kata-deploy-test:latest"
"""The tool pushes to a registry of its own making, whatever is asked; from there the image is tagged again."""

KDEPLOY = f"""set -eu
bash "$SOURCES/{SDK}/kata-v3.15.0/tools/build.sh" kdeploy
docker tag {_KDEPLOY_MADE} "$IMAGE_{PAYLOAD.upper()}"
docker push "$IMAGE_{PAYLOAD.upper()}"
"""
_KDEPLOY_TARBALL = Product(
    path=f"{_KDEPLOY_WORK}/tools/packaging/kata-deploy/kata-static.tar.xz",
    contains=(
        "/qemu-system-aarch64-virtcca-experimental",
        "/configuration-qemu-virtcca.toml",
        "/containerd-shim-kata-v2",
    ),
)


def preflight_args(
    preflight: Preflight, secrets: Mapping[str, Secret], read_log: Callable[[str], str]
) -> HostPreflightArgs:
    """read_log: gives what the Job of a name printed, see components.preflight.job_log."""
    jobs = None
    if preflight.job is not None:
        jobs = Jobs(
            nodes=preflight.job.nodes,
            image=preflight.job.image,
            namespace=preflight.job.namespace,
            timeout=preflight.job.timeout,
            read_log=read_log,
        )
    return HostPreflightArgs(
        hosts={name: _reached(host, secrets) for name, host in preflight.hosts.items()},
        jobs=jobs,
        wanted=Requirements(
            passthrough=preflight.passthrough,
            secure_memory_mib=preflight.secure_memory_mib,
            installed=preflight.installed,
        ),
        again=preflight.again or "",
    )


def artifacts_args(artifacts: Artifacts, secrets: Mapping[str, Secret]) -> CocoArtifactsArgs:
    """What is built, with the known step written out."""
    return CocoArtifactsArgs(
        folder=artifacts.folder,
        registry=artifacts.registry,
        sources={name: Source(url=one.url, commit=one.commit) for name, one in artifacts.sources.items()},
        builds={name: _build(one) for name, one in artifacts.builds.items()},
        builder=_reached(artifacts.builder, secrets) if artifacts.builder is not None else None,
        timeout=artifacts.timeout,
    )


def _build(build: BuildSettings) -> Build:
    files = [Product(path=one.path, contains=one.contains) for one in build.files]
    if build.command is not None:
        return Build(
            command=build.command, files=files, images=build.images, commits=build.commits, patched=build.patched
        )
    # The tool clones virtCCA_sdk's newest state and goes on after a patch that does not fit: both are checked after it.
    return Build(
        command=KDEPLOY,
        files=[_KDEPLOY_TARBALL, *files],
        images=build.images,
        commits={f"{_KDEPLOY_WORK}/build/virtCCA_sdk": SDK, **build.commits},
        patched=[_KDEPLOY_WORK, *build.patched],
    )


def _reached(host: SshHost, secrets: Mapping[str, Secret]) -> Host:
    return Host(
        address=host.address,
        private_key=pulumi.Output.secret(secrets[host.private_key].value),
        host_key=host.host_key,
        user=host.user,
        port=host.port,
    )
