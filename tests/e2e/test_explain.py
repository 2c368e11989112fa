"""A pod that the real scheduler leaves waiting is explained from the live cluster, and starts once that is done."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import Any

import pytest
from kubernetes import client
from typer.testing import CliRunner, Result

from cli.cluster import Cluster
from cli.main import app
from tests.e2e.conftest import Deployed
from tests.e2e.jobs import NAMESPACE, occupied, pod

pytestmark = pytest.mark.real


def explain(deployed: Deployed, *words: str) -> Result:
    kubeconfig = str(deployed.up.sandbox.kubeconfig)
    return CliRunner().invoke(app, ["claims", "explain", *words, "--kubeconfig", kubeconfig, "--node", "box16"])


def test_a_waiting_pod_starts_once_what_is_named_is_freed(deployed: Deployed) -> None:
    with deployed.api() as api, ExitStack() as first, ExitStack() as second:
        first.enter_context(occupied(api, "box16", [0]))
        second.enter_context(occupied(api, "box16", [8]))
        with pod(api, "waits", "box16", "npu-box16-8", wait=3) as given:
            assert given.node is None, "neither ring has eight free"
            assert "cannot allocate all claims" in given.message, "that is all that the scheduler says"
            done = explain(deployed, f"pod/{NAMESPACE}/waits", "--json")
            assert done.exit_code == 1, done.output
            (node,) = json.loads(done.stdout)["nodes"]
            assert node["conflict"]["constraints"][0]["matchAttribute"].endswith("/topoHccsRingID")
            assert {other["template"] for other in node["remedies"]["templates"]} == {"npu-box16-8-relaxed"}
            (freed,) = node["remedies"]["free"]["devices"]
            id = int(freed["device"].rpartition("-")[2])
            assert freed["pods"] == [f"{NAMESPACE}/busy-box16-{id}"]
            {0: first, 8: second}[id].close()
            core: Any = client.CoreV1Api(api)
            deadline = time.monotonic() + 30
            while not core.read_namespaced_pod("waits", NAMESPACE).spec.node_name:
                assert time.monotonic() < deadline, "with the device free, the pod must start"
                time.sleep(0.1)
            done = explain(deployed, f"pod/{NAMESPACE}/waits")
            assert done.exit_code == 0
            assert "it is allocated already" in done.stdout


def test_lists_are_read_page_by_page(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed.api() as api:
        whole = Cluster(api).objects("resource.k8s.io/v1", "resourceslices")
        monkeypatch.setattr("cli.cluster.PAGE", 2)
        paged = Cluster(api).objects("resource.k8s.io/v1", "resourceslices")
        assert len(whole) > 4
        assert [one["metadata"]["name"] for one in paged] == [one["metadata"]["name"] for one in whole]
        assert {(one["kind"], one["apiVersion"]) for one in paged} == {("ResourceSlice", "resource.k8s.io/v1")}
