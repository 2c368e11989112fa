"""Both operators by a real engine on a real API server: they come up, settle and go; and what their CRDs take."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client import ApiClient

from sandbox import nodes, places, plane
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.plane import Sandbox
from settings.servers import find_server
from tests.e2e.conftest import REPORT
from topology.profiles import OPENFUYAO

pytestmark = pytest.mark.real

PROGRAM = Path(__file__).parent / "operators"
NAMESPACES = {"confidential-containers-system", "trustee-operator-system"}
IMAGE = "registry.example/kbs@sha256:" + "0" * 64
COMMON = {"protect": False, "imagePullSecrets": ["registry"], "availableWithin": 60}
WORKLOAD = {**COMMON, "tolerations": [{"key": "npu", "operator": "Exists", "effect": "NoSchedule"}]}
TRUSTED = {**COMMON, "images": {"kbs": IMAGE, "kbsMicroservices": IMAGE, "as": IMAGE, "rvps": IMAGE}}


@pytest.fixture(scope="module")
def sandbox(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One of its own, with a single node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.STATE_VARIABLE, str(tmp_path_factory.mktemp("operators")))
        try:
            up = plane.up("operators", tools, REPORT)
            with client_for(up.kubeconfig) as api:
                nodes.publish(api, [find_server("310p3")], OPENFUYAO)
            yield up
        finally:
            plane.down("operators", REPORT)


def project(sandbox: Sandbox, tools: dict[str, Path], folder: Path, **changed: Any) -> Engine:
    """The program with a stack file of its own."""
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".venv").symlink_to(places.CHECKOUT / ".venv")
    settings = {"workload": WORKLOAD, "trusted": TRUSTED} | changed
    config = {f"operators:{key}": json.dumps(value) for key, value in settings.items()}
    config |= {"operators:context": sandbox.context, "pulumi:disable-default-providers": ["kubernetes"]}
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    return Engine(sandbox, tools, folder, REPORT)


@pytest.fixture(scope="module")
def engine(sandbox: Sandbox, tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The stack, which is up."""
    made = project(sandbox, tools, tmp_path_factory.mktemp("program"))
    made.up("dev")
    return made


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[ApiClient]:
    with client_for(sandbox.kubeconfig) as found:
        yield found


def test_a_second_up_changes_nothing_also_after_a_refresh(engine: Engine) -> None:
    engine.preview("dev", "--expect-no-changes")
    engine.refresh("dev")
    engine.preview("dev", "--expect-no-changes")
    engine.refresh("dev", "--expect-no-changes")
