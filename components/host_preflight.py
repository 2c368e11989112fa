"""`HostPreflight`: looks at hosts while `pulumi up` runs, and fails it with a verdict where one is not fit.

By ssh with the provider `command`, or by a Job on a node. In a preview nothing runs. A host is looked at when it is
new, when something of its entry changes or when `again` does; what was found is judged in every `up`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_command as command
import pulumi_kubernetes as kubernetes

from components.cluster_view import UnreachableError
from components.labels import MANAGED
from components.preflight import job
from components.preflight.facts import NoFactsError, parse, script
from components.preflight.judge import Requirements, failed, judge
from components.ssh import Host

TYPE = "ringfence:index:HostPreflight"


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """read_log: gives what the container of a Job printed. timeout: seconds until Kubernetes ends a Job."""

    nodes: Sequence[str]
    image: str
    read_log: Callable[[str], str]
    namespace: str = "kube-system"
    timeout: int = 300


@dataclass(frozen=True, kw_only=True)
class HostPreflightArgs:
    """hosts: name → how to reach it. again: another text makes it look at all of them again."""

    hosts: Mapping[str, Host] = field(default_factory=dict)
    jobs: Jobs | None = None
    wanted: Requirements = field(default_factory=Requirements)
    again: str = ""


class HostPreflight(pulumi.ComponentResource):
    """ready: what to depend on in order to come after hosts that are fit. verdicts: host → what is not ok about it."""

    def __init__(self, name: str, args: HostPreflightArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TYPE, name, None, opts)
        self.ready: list[pulumi.Resource] = []
        self.verdicts: dict[str, pulumi.Output[Sequence[str]]] = {}
        for host, how in sorted(args.hosts.items()):
            self._by_ssh(name, host, how, args)
        for node in args.jobs.nodes if args.jobs is not None else ():
            self._by_job(name, node, args)
        self.register_outputs({"verdicts": self.verdicts})

    def _by_ssh(self, name: str, host: str, how: Host, args: HostPreflightArgs) -> None:
        async def fit(hook: pulumi.ResourceHookArgs) -> None:
            outputs = hook.new_outputs or {}
            verdict(host, str(outputs.get("stdout", "")), args.wanted, _once_more(hook.urn))

        hook = pulumi.ResourceHook(f"{name}-{host}-fit", fit)
        done = command.remote.Command(
            f"{name}/{host}",
            connection=how.connection,
            create="sh -s",
            stdin=script(),
            triggers=[mark(args.again)],
            # What it prints is judged here; in the log it would only bury the verdict.
            logging=command.remote.Logging.NONE,
            add_previous_output_in_env=False,
            opts=pulumi.ResourceOptions(
                parent=self, hooks=pulumi.ResourceHookBinding(after_create=[hook], after_update=[hook])
            ),
        )
        self.ready.append(done)
        if pulumi.runtime.is_dry_run():
            return
        self.verdicts[host] = pulumi.Output.all(done.urn, done.stdout).apply(
            lambda both: _judged(host, both[1], args.wanted, _once_more(both[0]))
        )

    def _by_job(self, name: str, node: str, args: HostPreflightArgs) -> None:
        jobs = args.jobs
        assert jobs is not None, "called for its nodes"
        # A Job cannot be changed, so another one has another name.
        called = job.name_for(node, mark(args.again, json.dumps(job.spec(node, jobs.image, jobs.timeout))))

        async def fit(hook: pulumi.ResourceHookArgs) -> None:
            verdict(node, await asyncio.to_thread(_log, jobs, node, called), args.wanted, _once_more(hook.urn))

        hook = pulumi.ResourceHook(f"{name}-{node}-fit", fit)
        done = kubernetes.batch.v1.Job(
            f"{name}/{node}",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=called, namespace=jobs.namespace, labels=MANAGED | job.COMPONENT
            ),
            spec=job.spec(node, jobs.image, jobs.timeout),
            opts=pulumi.ResourceOptions(
                parent=self,
                custom_timeouts=pulumi.CustomTimeouts(create=f"{jobs.timeout + 30}s"),
                hooks=pulumi.ResourceHookBinding(after_create=[hook]),
            ),
        )
        self.ready.append(done)
        if pulumi.runtime.is_dry_run():
            return

        async def judged(urn: str) -> Sequence[str]:
            try:
                said = await asyncio.to_thread(_log, jobs, node, called)
            except UnfitError as error:
                raise pulumi.RunError(str(error)) from None
            return _judged(node, said, args.wanted, _once_more(urn))

        self.verdicts[node] = done.urn.apply(judged)


class UnfitError(Exception):
    """What a host lacks, and what to do about each, for a user."""


def _log(jobs: Jobs, node: str, called: str) -> str:
    try:
        return jobs.read_log(called)
    except UnreachableError as error:
        raise UnfitError(f"What was found on node {node} cannot be read: {error}. Run pulumi up again.") from None


def verdict(host: str, said: str, wanted: Requirements, then: str) -> list[str]:
    """What is unknown of a host that is fit. UnfitError for one that is not."""
    try:
        checks = judge(parse(said), wanted)
    except NoFactsError as error:
        raise UnfitError(f"Nothing is known of host {host}: {error} {then}") from None
    bad = failed(checks)
    if bad:
        unfit = f"Host {host} is not fit for confidential containers:"
        raise UnfitError("\n  ".join([unfit, *map(str, bad), then]))
    return [str(check) for check in checks if check.state == "unknown"]


def mark(*parts: str) -> str:
    """What makes a host be looked at again: another script, or another text of the user's."""
    return hashlib.sha256("\n".join([script(), *parts]).encode()).hexdigest()[:16]


def _judged(host: str, said: str, wanted: Requirements, then: str) -> list[str]:
    """Also where nothing changed: or an `up` after one that failed would pass, the host as unfit as before."""
    try:
        return verdict(host, said, wanted, then)
    except UnfitError as error:
        raise pulumi.RunError(str(error)) from None


def _once_more(urn: str) -> str:
    return f"Once that is put right, look again: pulumi up --replace '{urn}'."
