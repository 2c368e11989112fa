"""`ringfence fence preflight`: whether hosts can run confidential containers, before anything is installed on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.output import MISUSED, WRONG, fail, out, print_json, print_table
from components.cluster_view import ClusterAccess, UnreachableError, reading
from components.preflight import cluster, run_jobs, run_ssh
from components.preflight.facts import Facts
from components.preflight.judge import Check, Requirements, judge
from sandbox import interrupts

CLUSTER = "(cluster)"
_STYLES = {"ok": "green", "failed": "bold red", "unknown": "yellow"}

Verdicts = dict[str, list[Check]]


def preflight(
    context: Annotated[str | None, typer.Option(help="The kubeconfig context of the workload cluster.")] = None,
    kubeconfig: Annotated[Path | None, typer.Option(help="A kubeconfig; without it, KUBECONFIG.")] = None,
    nodes: Annotated[list[str] | None, typer.Option(help="A node to look at, as often as needed; else all.")] = None,
    image: Annotated[
        str | None, typer.Option(help="An image with a POSIX sh, awk, grep and sed, which the nodes can pull.")
    ] = None,
    namespace: Annotated[
        str, typer.Option(help="Where the Jobs run. It has to admit hostPath volumes.")
    ] = "kube-system",
    ssh: Annotated[
        list[str] | None, typer.Option(help="A host to look at by ssh: user@host, as often as needed.")
    ] = None,
    passthrough: Annotated[bool, typer.Option("--passthrough", help="Devices are to be handed to guests.")] = False,
    secure_memory: Annotated[int, typer.Option(min=1024, help="MiB that the largest guest needs.")] = 1024,
    installed: Annotated[
        bool, typer.Option("--installed", help="The runtime on the hosts of --ssh is this stack's own.")
    ] = False,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds to wait for the facts.")] = 120,
    as_json: Annotated[bool, typer.Option("--json", help="As data.")] = False,
) -> None:
    """Judge hosts: by Jobs on the nodes of a cluster, by ssh, or both. Nothing is changed on them."""
    if not context and not ssh:
        fail("nothing to look at. Name a cluster with --context, hosts with --ssh, or both.", MISUSED)
    if context and not image:
        fail("--context needs --image: an image with a POSIX sh, which runs on the nodes.", MISUSED)
    if secure_memory % 2:
        fail(f"--secure-memory {secure_memory} is odd. Secure memory is given out in steps of 2 MiB.", MISUSED)
    wanted = Requirements(passthrough=passthrough, secure_memory_mib=secure_memory, installed=installed)
    verdicts: Verdicts = {}
    # SIGTERM clears up as Ctrl-C does.
    with interrupts.terminable():
        if context and image:
            access = ClusterAccess(context=context, kubeconfig=str(kubeconfig) if kubeconfig else None)
            verdicts |= _cluster(access, nodes or [], image, namespace, timeout, wanted)
        if ssh:
            verdicts |= {host: _judged(found, wanted) for host, found in run_ssh.gather(ssh, timeout).items()}
    if as_json:
        print_json({name: [asdict(check) for check in checks] for name, checks in verdicts.items()})
    else:
        print_table(_table(verdicts))
        out.print(_summary(verdicts))
    if any(check.state == "failed" for checks in verdicts.values() for check in checks):
        raise typer.Exit(WRONG)


def _cluster(
    access: ClusterAccess, names: Sequence[str], image: str, namespace: str, timeout: int, wanted: Requirements
) -> Verdicts:
    try:
        with reading(access) as view:
            nodes = {str(one["metadata"]["name"]): one for one in view.nodes()}
            missing = [name for name in names if name not in nodes]
            if missing:
                fail(f"there is no node {missing[0]}. Write it as kubectl get nodes prints it.", MISUSED)
            asked = list(dict.fromkeys(names)) or sorted(nodes)
            verdicts = {CLUSTER: cluster.judge_cluster(view.version(), view.daemon_sets("kube-system"))}
            found = run_jobs.gather(view.api, asked, image, namespace, timeout)
    except UnreachableError as error:
        fail(f"{error}.")
    for name in asked:
        of_node = replace(wanted, installed=wanted.installed or cluster.is_installed(nodes[name]))
        verdicts[name] = cluster.merged(cluster.judge_node(nodes[name]), _judged(found[name], of_node))
    return verdicts


def _judged(found: Facts | str, wanted: Requirements) -> list[Check]:
    if isinstance(found, str):
        return [Check("facts", "failed", found, "Without them nothing is known of the host.")]
    return judge(found, wanted)


def _table(verdicts: Mapping[str, Sequence[Check]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("host", "check", "verdict", "found", "remedy"):
        table.add_column(column, no_wrap=column in ("host", "check", "verdict"), overflow="fold")
    for name, checks in verdicts.items():
        for number, check in enumerate(checks):
            verdict = Text(check.state, style=_STYLES[check.state])
            words = (Text(check.name), verdict, Text(check.what), Text(check.remedy))
            table.add_row(Text("" if number else name), *words)
    return table


def _summary(verdicts: Mapping[str, Sequence[Check]]) -> str:
    states = [check.state for checks in verdicts.values() for check in checks]
    return f"\n{states.count('ok')} ok, {states.count('failed')} failed, {states.count('unknown')} unknown"
