"""The production stack on the pair: Pulumi.prod.yaml as it is shipped, with the names of these two clusters in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client
from kubernetes.client import ApiClient

from sandbox import places
from sandbox.engine import Engine
from sandbox.errors import EngineError
from sandbox.pair import WORKLOAD_NODES
from tests.e2e.conftest import Pair
from tests.e2e.previews import steps

STACK = "prod"
TEAMS = ("training", "inference", "research")
HOST = "kbs.example.com"
SECRET = "never-to-be-seen-in-a-preview"
RUN_PROGRAM = "--run-program"


@dataclass
class Production:
    """A project folder of the tests' own with the one stack file. Changes are written to it as a user writes them."""

    pair: Pair
    folder: Path

    @property
    def engine(self) -> Engine:
        return self.pair.engine(self.folder)

    @property
    def file(self) -> Path:
        return self.folder / f"Pulumi.{STACK}.yaml"

    def change(self, **paths: Any) -> None:
        """Another value at dotted paths below `ringfence:fence`; None removes."""
        data = yaml.safe_load(self.file.read_text())
        for path, value in paths.items():
            *steps, last = path.split("__")
            at = data["config"]["ringfence:fence"]
            for step in steps:
                at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
            if value is None:
                del at[last]
            else:
                at[last] = value
        self.file.write_text(yaml.safe_dump(data, sort_keys=False))

    def value(self, path: str) -> Any:
        """What the file says at such a path."""
        at = yaml.safe_load(self.file.read_text())["config"]["ringfence:fence"]
        for step in path.split("__"):
            at = at[int(step)] if isinstance(at, list) else at[step]
        return at

    def set_secret(self, name: str, value: str) -> None:
        self._pulumi("config", "set", "--secret", f"secrets:{name}", given=value)

    def make_keys(self, *words: str) -> None:
        """As a user does."""
        ringfence = Path(sys.executable).parent / "ringfence"
        command = [str(ringfence), "fence", "keys", "--stack", STACK, "--host", HOST, "--broker", "Simple"]
        command += ["--project", str(self.folder), "--ca-out", str(self.folder / "kbs-ca.pem"), *words]
        subprocess.run(command, env=self.engine.environment(), check=True, capture_output=True)

    def _pulumi(self, *words: str, given: str) -> None:
        command = [str(self.pair.tools["pulumi"]), *words, "--stack", STACK, "--non-interactive"]
        environment = self.engine.environment()
        subprocess.run(
            command, cwd=self.folder, env=environment, input=given, text=True, check=True, capture_output=True
        )

    def up(self) -> str:
        done = self.engine.up(STACK)
        return done.stdout + done.stderr

    def failing(self, what: str, *words: str) -> str:
        """What pulumi says when it fails, as it must."""
        try:
            done = getattr(self.engine, what)(STACK, *words)
        except EngineError as error:
            return str(error)
        raise AssertionError(f"pulumi {what} went well:\n{done.stdout}")

    def preview(self) -> tuple[dict[str, str], str]:
        """Name in Pulumi → what will be done with it, where that is anything; and all that was said."""
        done = self.engine.preview(STACK, "--json")
        return steps(done.stdout), done.stdout + done.stderr

    def settles(self) -> None:
        """Nothing is left to do, nor is after a refresh."""
        self.engine.preview(STACK, "--expect-no-changes")
        self.engine.refresh(STACK)
        self.engine.preview(STACK, "--expect-no-changes")

    def workload(self) -> ApiClient:
        return self.pair.workload()

    def trusted(self) -> ApiClient:
        return self.pair.trusted()

    def deployment(self, side: str, namespace: str, name: str) -> Any:
        with getattr(self, side)() as api:
            return client.AppsV1Api(api).read_namespaced_deployment(name, namespace)

    def kbs_config(self) -> Any:
        with self.trusted() as api:
            return client.CustomObjectsApi(api).get_namespaced_custom_object(
                "confidentialcontainers.org", "v1alpha1", "trustee-operator-system", "kbsconfigs", "kbsconfig"
            )

    def cc_runtime(self) -> Any:
        with self.workload() as api:
            return client.CustomObjectsApi(api).get_cluster_custom_object(
                "confidentialcontainers.org", "v1beta1", "ccruntimes", "ccruntime-sample"
            )

    def node_labels(self) -> dict[str, dict[str, str]]:
        with self.workload() as api:
            core: Any = client.CoreV1Api(api)
            return {node.metadata.name: node.metadata.labels for node in core.list_node().items}

    def names(self, side: str, api_class: str, method: str) -> set[str]:
        """Of all objects of a kind."""
        with getattr(self, side)() as api:
            return {one.metadata.name for one in getattr(getattr(client, api_class)(api), method)().items}


def prepare(pair: Pair, folder: Path) -> Production:
    """The project, its stack file with keys and a tenant's secret in it, and the teams' namespaces."""
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copyfile(places.CHECKOUT / name, folder / name)
    (folder / ".venv").symlink_to(places.CHECKOUT / ".venv")
    text = (places.CHECKOUT / f"Pulumi.{STACK}.yaml").read_text()
    for shipped, here in (("npu-prod-a", pair.up.workload.context), ("trust-prod-a", pair.up.trusted.context)):
        assert shipped in text
        text = text.replace(shipped, here)
    production = Production(pair, folder)
    production.file.write_text(text)
    production.change(
        ccRuntime__nodes=list(WORKLOAD_NODES[:2]),
        ccRuntime__waitTimeout=60,
        ccRuntime__deleteTimeout=60,
        ccRuntime__drainTimeout=0,
        kbs__readyTimeout=60,
        kbs__resources__model={"key": {"secret": "model-key"}},
        workloads__0__rolloutTimeout=60,
    )
    production.engine.ensure_stack(STACK)
    production.make_keys()
    production.set_secret("model-key", SECRET)
    with pair.workload() as api:
        core: Any = client.CoreV1Api(api)
        for namespace in TEAMS:
            core.create_namespace({"metadata": {"name": namespace}})
    return production


def unprotected(production: Production) -> None:
    """As a user who wants to remove all of it writes it."""
    data = yaml.safe_load(production.file.read_text())
    data["config"]["ringfence:cluster"]["protectNamespaces"] = False
    production.file.write_text(yaml.safe_dump(data, sort_keys=False))
    production.change(ccOperator__protect=False, trusteeOperator__protect=False)
