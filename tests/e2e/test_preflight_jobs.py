"""Preflight by Jobs on a real API server: what is made, that it is bounded, and that nothing of it stays.

No container runs in the sandbox, so the log comes from the test, and the pods' end from kwok or from nobody.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client import ApiClient, ApiException

from components.preflight import job, run_jobs
from components.preflight.facts import script
from sandbox import places, plane
from sandbox.api import client_for
from tests.components.preflight.roots import GOOD_FACTS, root, run
from tests.e2e.conftest import REPORT
from tests.sandboxes import sandbox_in

pytestmark = pytest.mark.real

IMAGE = "registry.example/shell:1"
PLAYED, ABSENT = "played", "absent"
"""Nodes: kwok plays the kubelet of the one; the other is not there, so its pods wait."""
FULL = "full"
"""A namespace that has no room for pods."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    with sandbox_in(tmp_path_factory.mktemp("preflight") / "state", "preflight", tools, REPORT) as up:
        with client_for(up.kubeconfig) as api:
            core: Any = client.CoreV1Api(api)
            room = {"cpu": "64", "memory": "256Gi", "pods": "50"}
            core.create_node({"metadata": {"name": PLAYED}, "status": {"capacity": room, "allocatable": room}})
            core.create_namespace({"metadata": {"name": FULL}})
            core.create_namespaced_resource_quota(FULL, {"metadata": {"name": FULL}, "spec": {"hard": {"pods": "0"}}})
        yield up


@pytest.fixture
def api(cluster: plane.Sandbox) -> Iterator[ApiClient]:
    with client_for(cluster.kubeconfig) as found:
        yield found


def jobs(api: ApiClient) -> list[Any]:
    batch: Any = client.BatchV1Api(api)
    return list(batch.list_job_for_all_namespaces().items)


def pods(api: ApiClient) -> list[Any]:
    core: Any = client.CoreV1Api(api)
    return list(core.list_pod_for_all_namespaces(label_selector=run_jobs.RUN_LABEL).items)


def kill(api: ApiClient, pod: Any) -> None:
    """A pod whose node is played may be gone by now."""
    core: Any = client.CoreV1Api(api)
    try:
        core.delete_namespaced_pod(pod.metadata.name, pod.metadata.namespace, grace_period_seconds=0)
    except ApiException as error:
        if error.status != 404:
            raise


def nothing_stays(api: ApiClient) -> bool:
    deadline = time.monotonic() + 60
    while jobs(api) or pods(api):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


def test_a_node_is_looked_at_by_a_job_that_may_only_read(api: ApiClient, tmp_path: Path) -> None:
    said = run(root(tmp_path / "host"))
    seen: list[Any] = []

    def read_log(api: ApiClient, namespace: str, pod: str) -> str:
        core: Any = client.CoreV1Api(api)
        seen.append(core.read_namespaced_pod(pod, namespace))
        return said

    found = run_jobs.gather(api, [PLAYED], IMAGE, "kube-system", 60, read_log)
    assert found == {PLAYED: GOOD_FACTS}
    (pod,) = seen
    (container,) = pod.spec.containers
    assert pod.spec.node_name == PLAYED
    assert container.image == IMAGE
    assert container.command == ["sh", "-c", script(), "sh", "/host"]
    security = container.security_context
    assert not security.privileged
    assert security.allow_privilege_escalation is False
    assert security.capabilities.drop == ["ALL"]
    assert not security.capabilities.add
    assert security.read_only_root_filesystem
    assert [mount.read_only for mount in container.volume_mounts] == [True], "of the service account there is no token"
    assert [pod.spec.host_pid, pod.spec.host_network, pod.spec.host_ipc] == [None] * 3
    assert nothing_stays(api)


def test_a_node_whose_pod_never_ends_is_told_in_time_and_the_others_are_judged(api: ApiClient, tmp_path: Path) -> None:
    said = run(root(tmp_path / "host"))
    started = time.monotonic()
    found = run_jobs.gather(api, [PLAYED, ABSENT], IMAGE, "kube-system", 5, lambda *_: said)
    assert time.monotonic() - started < 25
    assert found == {PLAYED: GOOD_FACTS, ABSENT: "after 5 s its pod is still Pending."}
    # A pod is kept until its node's kubelet confirms its end, and this one never has a kubelet.
    for pod in pods(api):
        assert pod.metadata.deletion_timestamp or pod.spec.node_name == PLAYED
        kill(api, pod)
    assert nothing_stays(api)


def test_a_job_that_gets_no_pod_is_told(api: ApiClient) -> None:
    assert run_jobs.gather(api, [PLAYED], IMAGE, FULL, 3) == {PLAYED: "after 3 s the Job has no pod."}
    assert nothing_stays(api)


def test_a_log_that_cannot_be_read_is_told(api: ApiClient) -> None:
    def refused(*_: object) -> str:
        raise ApiException(status=502, reason="Bad Gateway")

    found = run_jobs.gather(api, [PLAYED], IMAGE, "kube-system", 60, refused)
    assert str(found[PLAYED]).startswith("the log of pod preflight-played-")
    assert str(found[PLAYED]).endswith("could not be read: 502 Bad Gateway.")
    assert nothing_stays(api)


def test_what_may_not_be_made_is_told_and_nothing_stays(api: ApiClient) -> None:
    with pytest.raises(ApiException) as caught:
        run_jobs.gather(api, [PLAYED], IMAGE, "nowhere", 5)
    assert caught.value.status == 404
    assert nothing_stays(api)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_takes_the_jobs_away(cluster: plane.Sandbox, api: ApiClient, number: signal.Signals) -> None:
    command = [sys.executable, "-c", "from cli.start import main; main()", "fence", "preflight", "--context"]
    command += [cluster.context, "--kubeconfig", str(cluster.kubeconfig), "--image", IMAGE, "--namespace", FULL]
    process = subprocess.Popen(
        [*command, "--timeout", "120"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=places.CHECKOUT
    )
    try:
        deadline = time.monotonic() + 60
        while not jobs(api):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.3)
        process.send_signal(number)
        _, err = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "Traceback" not in err
    assert nothing_stays(api)


def test_the_command_says_of_each_node_what_the_api_knows_and_what_its_host_told(cluster: plane.Sandbox) -> None:
    command = [sys.executable, "-c", "from cli.start import main; main()", "fence", "preflight", "--context"]
    command += [cluster.context, "--kubeconfig", str(cluster.kubeconfig), "--image", IMAGE, "--namespace", FULL]
    command += ["--timeout", "4"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=places.CHECKOUT, check=False)
    assert done.returncode == 1
    first = {line.split()[0]: line for line in done.stdout.splitlines() if line and not line.startswith(" ")}
    assert "it is v1.37" in first["(cluster)"]
    assert "it is Ready" in first[PLAYED]
    assert "after 4 s the Job has no pod." in done.stdout
    again = subprocess.run(
        [*command, "--nodes", "nobody"], capture_output=True, text=True, cwd=places.CHECKOUT, check=False
    )
    assert again.returncode == 2
    assert again.stderr.strip() == "ringfence: there is no node nobody. Write it as kubectl get nodes prints it."


def test_names_of_jobs_fit_and_are_of_one_node_and_run() -> None:
    long = "node-" + "a" * 80 + ".example"
    names = {job.name_for(node, mark) for node in (long, f"{long}2", "a.b") for mark in ("1", "2")}
    assert len(names) == 6
    assert all(len(name) <= 63 and "." not in name for name in names)
