"""`ringfence claims check`: the rules over anyone's claims, in files, from a pipe or in a cluster."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.output import MISUSED, WRONG, fail, out, print_json, warn
from cli.server import load
from policy.lint import reports
from policy.lint.check import Problem, check, subjects_of
from policy.lint.documents import Document, Unreadable
from policy.lint.files import gather
from policy.rules.catalogue import of
from policy.rules.fleet import Fleet, declared, dumped
from policy.rules.model import Environment, Group, Level
from policy.rules.speak import several
from policy.rules.surroundings import surround
from settings.capabilities import VERSIONS, Capabilities
from settings.proofs import read_proofs
from settings.servers import proofs_of
from topology.errors import TopologyError
from topology.profiles import PROFILES, profile


def check_(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE…", help="YAML or JSON files, folders, or - for what helm or kustomize prints."),
    ] = None,
    servers: Annotated[
        list[str] | None, typer.Option("--server", metavar="SERVER", help="A kind of server that the cluster has.")
    ] = None,
    slices: Annotated[
        Path | None, typer.Option("--slices", metavar="DUMP", help="What `kubectl get resourceslices -o yaml` printed.")
    ] = None,
    driver: Annotated[str, typer.Option("--profile", help=f"The NPU driver: {', '.join(PROFILES)}.")] = "openfuyao",
    version: Annotated[
        str | None, typer.Option("--kubernetes", help=f"The cluster's version: {', '.join(VERSIONS)}.")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="Check what is in the cluster of this kubeconfig context.")
    ] = None,
    namespace: Annotated[str, typer.Option(help="Where objects go that name no namespace.")] = "default",
    groups: Annotated[
        list[Group] | None, typer.Option("--group", help="Groups of rules; again for several. Default: claims.")
    ] = None,
    environment: Annotated[Environment, typer.Option(help="In dev nothing is an error.")] = Environment.PROD,
    notes: Annotated[bool, typer.Option("--notes", help="Also say what could not be decided.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data.")] = False,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write SARIF for code scanning.")] = None,
    github: Annotated[bool, typer.Option("--github", help="Print annotations for a GitHub workflow.")] = False,
) -> None:
    """Say what would not work in claims, templates, classes and the pods that use them, and what to write instead.

    Any driver's. The more is known, the more is judged: --server or --slices for the devices, --kubernetes for what the
    cluster keeps. Exit status 1 on an error, 2 where it was asked wrongly.
    """
    documents, skipped = _documents(files or [], context)
    for sentence in skipped:
        warn(sentence)
    live = [dict(document.manifest) for document in documents] if context is not None else []
    fleet = _fleet(servers or [], slices, driver, live)
    chosen = of(groups or [Group.CLAIMS])
    subjects = subjects_of(documents)
    surroundings = surround(subjects, fleet, _cluster(version), None, namespace)
    problems = check(documents, subjects, chosen, surroundings, environment)
    if sarif is not None:
        data = reports.sarif(problems, chosen, environment, installed("ringfence"))
        try:
            sarif.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            fail(f"--sarif {sarif}: {error.strerror}. Name a file that can be written.", MISUSED)
    _tell(problems, len(documents), notes, as_json, github)
    if any(problem.level is Level.ERROR for problem in problems):
        raise typer.Exit(WRONG)


def _documents(files: list[str], context: str | None) -> tuple[list[Document], list[str]]:
    if context is not None:
        if files:
            fail("--context and files were named together. Check one of them at a time.", MISUSED)
        # The client of the API is a third of the time that a check takes to start.
        from cli.live import objects_of

        found, version = objects_of(context)
        place = f"{context} ({version})"
        return [Document(one, place) for one in found], []
    if not files:
        fail("nothing to check. Name files, a folder, - for standard input, or --context.", MISUSED)
    try:
        gathered = gather(files, sys.stdin)
    except Unreadable as error:
        fail(str(error), MISUSED)
    return gathered.documents, gathered.skipped


def _fleet(servers: list[str], slices: Path | None, driver: str, live: list[dict[str, Any]]) -> Fleet:
    if driver not in PROFILES:
        fail(f"--profile {driver}: there is no such driver profile. Write one of {', '.join(PROFILES)}.", MISUSED)
    if servers and slices is not None:
        fail("--server and --slices both say which devices there are. Name one of them.", MISUSED)
    try:
        if servers:
            known = [load(server) for server in servers]
            proofs = {key: proof for server in servers for key, proof in read_proofs(proofs_of(server)).items()}
            return declared(known, profile(driver), proofs)
        if slices is not None:
            found = dumped([one.manifest for one in gather([str(slices)], sys.stdin).documents], profile(driver))
            if not found:
                fail(
                    f"--slices {slices}: there is no ResourceSlice in it. "
                    "Name what `kubectl get resourceslices -o yaml` printed.",
                    MISUSED,
                )
            return found
        if live:
            return dumped(live, profile(driver))
    except Unreadable as error:
        fail(f"--slices {error}", MISUSED)
    except TopologyError as error:
        fail(str(error), MISUSED)
    return Fleet(profile=profile(driver))


def _cluster(version: str | None) -> Capabilities | None:
    if version is None:
        return None
    if version not in VERSIONS:
        fail(f"--kubernetes {version}: write one of {', '.join(VERSIONS)}.", MISUSED)
    return Capabilities(version, {})  # type: ignore[arg-type]


def _tell(problems: list[Problem], objects: int, notes: bool, as_json: bool, github: bool) -> None:
    undecided = [problem for problem in problems if problem.level is Level.NOTE]
    told = problems if notes else [problem for problem in problems if problem.level is not Level.NOTE]
    if as_json:
        print_json(reports.data_of(told))
        return
    for problem in told:
        typer.echo(reports.annotation_of(problem) if github else reports.line_of(problem))
    if github:
        return
    errors = sum(problem.level is Level.ERROR for problem in problems)
    warnings = sum(problem.level is Level.WARNING for problem in problems)
    parts = [several(errors, "error"), several(warnings, "warning")]
    if undecided and not notes:
        parts.append(f"{len(undecided)} could not be decided from here (--notes)")
    out.print(f"{several(objects, 'object')}: {', '.join(parts)}.", markup=False)
