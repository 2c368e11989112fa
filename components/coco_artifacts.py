"""`CocoArtifacts`: builds what confidential containers consist of, here or on a builder, while `pulumi up` runs.

In a preview nothing runs. A build runs again when something that it is made from changes, and not otherwise. What came
out is checked, and its images are told by digest, so that other components take exactly those.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_command as command

from components.artifacts.builds import Build, CameOut, Source, build_script, came_out, sources_script
from components.ssh import Host

TYPE = "ringfence:index:CocoArtifacts"


@dataclass(frozen=True, kw_only=True)
class CocoArtifactsArgs:
    """folder: on the builder, absolute; it stays when the stack goes. builder: None builds on this machine.

    registry: where images go, without a / at its end; the builder is logged in there. timeout: seconds for each step.
    """

    folder: str
    registry: str
    sources: Mapping[str, Source]
    builds: Mapping[str, Build]
    builder: Host | None = None
    timeout: int = 6 * 3600


class CocoArtifacts(pulumi.ComponentResource):
    """images: "build/name" → its reference by digest. files: build → path → SHA-256. Both known after the build."""

    def __init__(self, name: str, args: CocoArtifactsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE, name, None, opts)
        self.images: dict[str, pulumi.Output[str]] = {}
        self.files: dict[str, pulumi.Output[Mapping[str, str]]] = {}
        sources = _run(f"{name}-sources", sources_script(args.folder, args.sources), args, self)
        before = sources
        for key, build in args.builds.items():
            script = build_script(args.folder, args.registry, key, build, args.sources)
            # One after another: each takes all of a machine, and some of them change what they build on.
            before = _run(f"{name}/{key}", script, args, self, after=before, made_of=_mark(args.sources))
            self._take(key, build, before.stdout)
        self.register_outputs({"images": self.images, "files": self.files})

    def _take(self, key: str, build: Build, said: pulumi.Output[str]) -> None:
        out: pulumi.Output[CameOut] = said.apply(came_out)
        self.files[key] = out.apply(lambda found: found.files)
        for image in build.images:
            self.images[f"{key}/{image}"] = out.apply(lambda found, image=image: found.images[image])  # type: ignore[misc]


def _run(
    name: str,
    script: str,
    args: CocoArtifactsArgs,
    parent: pulumi.Resource,
    *,
    after: pulumi.Resource | None = None,
    made_of: str = "",
) -> command.local.Command | command.remote.Command:
    # As `create` and not on standard input, from which a build could read it away.
    opts = pulumi.ResourceOptions(
        parent=parent,
        depends_on=[after] if after is not None else [],
        custom_timeouts=pulumi.CustomTimeouts(create=f"{args.timeout}s", update=f"{args.timeout}s"),
    )
    triggers = [hashlib.sha256(f"{script}\n{made_of}".encode()).hexdigest()[:16]]
    if args.builder is None:
        return command.local.Command(
            name,
            create=script,
            interpreter=["/bin/sh", "-c"],
            triggers=triggers,
            logging=command.local.Logging.STDERR,
            add_previous_output_in_env=False,
            opts=opts,
        )
    return command.remote.Command(
        name,
        connection=args.builder.connection,
        create=script,
        triggers=triggers,
        logging=command.remote.Logging.STDERR,
        add_previous_output_in_env=False,
        opts=opts,
    )


def _mark(sources: Mapping[str, Source]) -> str:
    return "\n".join(f"{name} {source.url} {source.commit}" for name, source in sorted(sources.items()))
