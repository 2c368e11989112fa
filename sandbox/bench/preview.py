"""`pulumi preview` of the production stack against the same objects declared raw: what the components cost."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sandbox import files, places
from sandbox.bench.summary import Spread, ratio
from sandbox.engine import Engine
from sandbox.errors import EngineError
from sandbox.plane import Sandbox
from sandbox.report import Report

STACK = "prod"
RAW = "raw"

_RAW_PROGRAM = '''"""The objects of objects.json, each declared by itself: no settings, no components, no decisions."""

import json
from pathlib import Path

import pulumi
import pulumi_kubernetes  # noqa: F401 - whoever writes such a program has it, and it takes its time to load

provider = None
for entry in json.loads(Path("objects.json").read_text(encoding="utf-8")):
    if entry["type"].startswith("pulumi:providers:"):
        provider = pulumi.ProviderResource(entry["type"].rsplit(":", 1)[-1], entry["name"], entry["inputs"])
    else:
        options = pulumi.ResourceOptions(provider=provider)
        pulumi.CustomResource(entry["type"], entry["name"], entry["inputs"], options)
'''


def compare(sandbox: Sandbox, tools: Mapping[str, Path], repeat: int, report: Report) -> dict[str, Any]:
    """Seconds of each preview, in turns: the whole command, as a user waits for it. {"skipped": why} if one fails."""
    try:
        return _compare(sandbox, tools, repeat, report)
    except EngineError as error:
        return {"skipped": f"{error.reason} " + " ".join(error_lines(error.evidence))}


def error_lines(evidence: str) -> list[str]:
    """The lines of pulumi's output that say what was wrong."""
    return [line.strip() for line in evidence.splitlines() if "error" in line.lower()]


def _compare(sandbox: Sandbox, tools: Mapping[str, Path], repeat: int, report: Report) -> dict[str, Any]:
    root = places.private(sandbox.folder / "preview")
    product = Engine(sandbox, tools, _product(root / "product", sandbox), report)
    with report.task("Previews of the production stack and of the same objects raw", 60):
        said = json.loads(product.preview(STACK, "--json").stdout)
        declared = [_declared(step["newState"]) for step in said["steps"] if step["newState"].get("custom")]
        raw = Engine(sandbox, tools, _raw(root / "raw", declared), report)
        raw.preview(RAW)
        times: dict[str, list[float]] = {STACK: [], RAW: []}
        for _ in range(repeat):
            for engine, name in ((product, STACK), (raw, RAW)):
                started = time.monotonic()
                engine.preview(name)
                times[name].append(time.monotonic() - started)
    stack, plain = Spread.of(times[STACK]), Spread.of(times[RAW])
    return {
        "objects": len(declared),
        "stack_s": stack.plain(),
        "raw_s": plain.plain(),
        "to_raw": ratio(stack.median, plain.median),
    }


def _product(folder: Path, sandbox: Sandbox) -> Path:
    """The project as it is, but with Pulumi.prod.yaml naming the bench's cluster."""
    folder.mkdir()
    for name in ("__main__.py", "components", "settings", "topology", "servers"):
        (folder / name).symlink_to(places.CHECKOUT / name)
    _project(folder, "ringfence-bench-product")
    stack = yaml.safe_load((places.CHECKOUT / f"Pulumi.{STACK}.yaml").read_text(encoding="utf-8"))
    # Its key broker needs a second cluster and keys; the question here is about many templates.
    del stack["config"]["ringfence:fence"]
    stack["config"]["ringfence:cluster"] |= {"context": sandbox.context, "identifier": sandbox.context}
    files.write_whole(folder / f"Pulumi.{STACK}.yaml", yaml.safe_dump(stack, sort_keys=False))
    return folder


def _raw(folder: Path, declared: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    files.write_whole(folder / "__main__.py", _RAW_PROGRAM)
    files.write_whole(folder / "objects.json", json.dumps(declared))
    _project(folder, "ringfence-bench-raw")
    files.write_whole(folder / f"Pulumi.{RAW}.yaml", "config: {}\n")
    return folder


def _project(folder: Path, name: str) -> None:
    project = yaml.safe_load((places.CHECKOUT / "Pulumi.yaml").read_text(encoding="utf-8"))
    project["name"] = name
    options = project["runtime"]["options"]
    # The environment that runs this has all that the program needs; the checkout need not have one of its own.
    options["virtualenv"] = sys.prefix
    files.write_whole(folder / "Pulumi.yaml", yaml.safe_dump(project, sort_keys=False))


def _declared(state: Mapping[str, Any]) -> dict[str, Any]:
    inputs = {key: value for key, value in state["inputs"].items() if not key.startswith("__")}
    return {"type": state["type"], "name": state["urn"].rsplit("::", 1)[-1], "inputs": inputs}
