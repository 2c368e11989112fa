"""`ringfence claims explain`: why a claim or a pod's claims wait, from dumps or from a live cluster."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.files import read_objects
from cli.output import MISUSED, WRONG, err, fail, out, print_json, warn
from topology.allocator import NEWEST, VERSIONS, Malformed, Unmodelled, Version
from topology.errors import TopologyError
from topology.explain import Explanation, NotThere, Verdict, lines, read_situation, subject
from topology.explain import explain as explain_

if TYPE_CHECKING:
    from cli.cluster import Cluster

RESOURCE = "resource.k8s.io/v1"


def explain(
    name: Annotated[
        str,
        typer.Argument(metavar="CLAIM|POD", help="[NS/]NAME of a ResourceClaim, or pod/[NS/]NAME for its claims."),
    ],
    slices: Annotated[
        list[Path] | None,
        typer.Option("--slices", metavar="DUMP", help="ResourceSlices and DeviceClasses, as kubectl prints them."),
    ] = None,
    claims: Annotated[
        list[Path] | None,
        typer.Option("--claims", metavar="DUMP", help="All ResourceClaims; templates and Pods where they are wanted."),
    ] = None,
    nodes: Annotated[
        list[Path] | None,
        typer.Option("--nodes", metavar="DUMP", help="Nodes; else those that slices name. Kinds may be mixed."),
    ] = None,
    kubeconfig: Annotated[Path | None, typer.Option("--kubeconfig", help="Ask this cluster instead of dumps.")] = None,
    context: Annotated[str | None, typer.Option("--context", help="The context of the kubeconfig.")] = None,
    node: Annotated[str | None, typer.Option("--node", metavar="NODE", help="Only this node.")] = None,
    kubernetes: Annotated[
        str | None,
        typer.Option("--kubernetes", help=f"Whose scheduler: {', '.join(VERSIONS)}; by default the cluster's own."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
) -> None:
    """Say what stands in the way of a pending claim, node by node, and the smallest changes that would make it fit.

    Without dumps, the cluster of the kubeconfig is read (and only read). Exit status: 0 if it fits on some node or is
    allocated, 1 if it does not fit, 2 where that cannot be told or was asked wrongly.
    """
    # One file may have everything, and be named for each.
    dumps = list(dict.fromkeys([*(slices or ()), *(claims or ()), *(nodes or ())]))
    if dumps and (kubeconfig is not None or context is not None):
        fail("dumps and a cluster are named. Give --slices and --claims, or --kubeconfig and --context.", MISUSED)
    if kubernetes is not None and kubernetes not in VERSIONS:
        fail(f"--kubernetes {kubernetes}: write one of {', '.join(VERSIONS)}.", MISUSED)
    if dumps:
        objects, version = [thing for path in dumps for thing in read_objects(path)], NEWEST.name
    else:
        # Dumps need no client of the API, which takes long to import.
        from cli.cluster import cluster

        with cluster(kubeconfig, context) as live:
            objects, version = _live(live, name), live.version()
    try:
        found = _explain(objects, name, VERSIONS[kubernetes] if kubernetes else _version(version), node)
    except Unmodelled as error:
        if not as_json:
            fail(str(error), MISUSED)
        print_json({"unmodelled": error.feature})
        raise typer.Exit(MISUSED) from error
    except (Malformed, NotThere) as error:
        fail(str(error), MISUSED)
    except TopologyError as error:
        fail(str(error), MISUSED)
    if as_json:
        print_json(found.plain())
    else:
        for line in lines(found):
            out.print(line, markup=False)
    raise typer.Exit(status(found.verdict))


def status(verdict: Verdict) -> int:
    """The exit status."""
    if verdict in (Verdict.FITS, Verdict.ALLOCATED):
        return 0
    return MISUSED if verdict is Verdict.UNMODELLED else WRONG


def _explain(objects: Iterable[Any], name: str, version: Version, node: str | None) -> Explanation:
    situation = read_situation(objects)
    asked = subject(situation, name)
    known = sorted(one.name for one in situation.world.nodes)
    if node is not None and node not in known:
        there = ", ".join(known[:8]) + (", …" if len(known) > 8 else "") if known else "none"
        fail(f"--node {node}: there is no such node; there are {there}.", MISUSED)
    with err.status("looking at nodes …") as shown:
        return explain_(situation, asked, version, node, told=lambda one: shown.update(f"looking at {one} …"))


def _live(live: Cluster, name: str) -> list[Any]:
    """One list of each kind; of pods, those of the namespace if it is known."""
    from kubernetes.client import ApiException

    found: list[Any] = live.objects("v1", "nodes")
    for plural in ("deviceclasses", "resourceslices", "resourceclaims", "resourceclaimtemplates"):
        found += live.objects(RESOURCE, plural)
    if "devicetaintrules" in live.served(RESOURCE):
        try:
            found += live.objects(RESOURCE, "devicetaintrules")
        except ApiException as error:
            warn(f"DeviceTaintRules could not be read ({error.status} {error.reason}); taints of theirs are not known.")
    namespace = name.removeprefix("pod/").partition("/")[0] if "/" in name.removeprefix("pod/") else None
    if namespace is None and not name.startswith("pod/"):
        homes = {one["metadata"]["namespace"] for one in found if one["kind"] == "ResourceClaim" and _called(one, name)}
        namespace = homes.pop() if len(homes) == 1 else None
    return found + live.objects("v1", "pods", namespace)


def _called(thing: Any, name: str) -> bool:
    return bool(thing["metadata"]["name"] == name)


def _version(name: str) -> Version:
    if name in VERSIONS:
        return VERSIONS[name]
    if tuple(map(int, name.split("."))) < tuple(map(int, NEWEST.name.split("."))):
        fail(f"the cluster is Kubernetes {name}. The schedulers of {', '.join(VERSIONS)} are replicated.", MISUSED)
    warn(f"the cluster is Kubernetes {name}; its scheduler is taken to search as that of {NEWEST.name}.")
    return NEWEST
