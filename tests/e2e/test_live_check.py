"""`ringfence claims check --context`: what is in a real API server, judged by its own slices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from typer.testing import CliRunner

from cli.main import app
from sandbox import plane
from sandbox.api import client_for
from sandbox.report import Silent
from settings.servers import find_server
from tests.sandboxes import sandbox_in
from topology.assumptions import assume
from topology.devices import resource_slice
from topology.profiles import OPENFUYAO

pytestmark = pytest.mark.real


@pytest.fixture
def sandbox(tmp_path: Path, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    with sandbox_in(tmp_path / "state", "live", tools, Silent()) as up:
        yield up


def test_a_cluster_is_judged_by_what_it_has(sandbox: plane.Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = [{"matchAttribute": "npu.huawei.com/topoHccsRingID"}]
    with client_for(sandbox.kubeconfig) as api:
        resource: Any = client.ResourceV1Api(api)
        resource.create_resource_slice(resource_slice(assume(find_server("box16")), OPENFUYAO, "n1"))
        driver = [{"cel": {"expression": 'device.driver == "npu.huawei.com"'}}]
        resource.create_device_class({"metadata": {"name": "npu"}, "spec": {"selectors": driver}})
        for count in (8, 9):
            asked = [{"name": "r", "exactly": {"deviceClassName": "npu", "count": count}}]
            body = {"metadata": {"name": f"c{count}"}, "spec": {"devices": {"requests": asked, "constraints": ring}}}
            resource.create_namespaced_resource_claim("default", body)
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    done = CliRunner().invoke(app, ["claims", "check", "--context", sandbox.context, "--json"])
    assert done.exit_code == 1, done.stderr
    (found,) = json.loads(done.stdout)
    assert (found["rule"], found["object"]) == ("satisfiable", "ResourceClaim default/c9")
    assert found["source"].startswith(sandbox.context)
