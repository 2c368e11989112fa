"""The simulation is held to the real scheduler, job by job, and the shipped scheduler profile to what it is for.

A longer run of the same is `ringfence simulate box16 --real`; docs/fragmentation.md has what it found.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from sandbox import layout, places
from sandbox.api import client_for
from sandbox.bench import cluster, objects
from sandbox.bench.cluster import Cluster
from sandbox.bench.kind import Kind, Order
from sandbox.played import Decision, Pods, play
from sandbox.report import Silent
from settings.servers import find_server
from topology.profiles import OPENFUYAO
from topology.simulate.jobs import DEFAULT_MIX, Mix, read_mix
from topology.simulate.scene import Setting
from topology.simulate.strategies import Nodes, Placed

BOX16 = find_server("box16")
KIND = Kind.of(BOX16, OPENFUYAO)
LARGER = read_mix("1:30,2:20,3:5,4:15,6:5,8:10,10:3,12:5,14:2,16:5")
SHIPPED = yaml.safe_load(places.SCHEDULER_EXAMPLE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def plane(tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all of these tests; each leaves it without pods."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))
        with cluster.running(tools, Silent()) as up:
            up.prepare(KIND)
            yield up


@pytest.mark.real
@pytest.mark.parametrize(
    ("nodes", "strategy", "mix", "jobs", "by_chance"),
    [
        (Nodes.PACK, "ours", DEFAULT_MIX, 200, 0.6),
        (Nodes.SPREAD, "ours", DEFAULT_MIX, 150, 0.6),
        (Nodes.RANDOM, "ours", DEFAULT_MIX, 150, 1.0),
        (Nodes.PACK, "relaxed", LARGER, 100, 0.6),
    ],
)
def test_every_decision_of_the_real_scheduler_is_one_that_the_model_allows(
    plane: Cluster, nodes: Nodes, strategy: str, mix: Mix, jobs: int, by_chance: float
) -> None:
    """Node, NPUs and whether the job fits. by_chance: nodes drawn by lot would agree no more often than so."""
    played = play(plane, BOX16, Setting(servers=8, jobs=jobs, mix=mix, nodes=nodes), strategy)
    assert not played.mismatches, f"{len(played.mismatches)} of {jobs}, the first: {played.mismatches[0]}"
    assert len(played.decisions) == jobs
    assert any(decision.real is None for decision in played.decisions), "that a job does not fit is compared too"
    assert played.by_chance is not None
    if nodes is Nodes.RANDOM:
        assert played.emptiness is not None
        assert played.emptiness < 0.62, "by lot, which is ½ and five deviations, or nearly the first as 1.37.2 has it"
    assert played.by_chance <= by_chance, "or it says little that the nodes agree"


@pytest.mark.real
@pytest.mark.parametrize("pull", ["image", "memory", "service"])
def test_the_shipped_profile_packs_whatever_else_draws_a_pod_to_an_emptier_node(plane: Cluster, pull: str) -> None:
    """One NPU more is in use on the full node. The other has the image, or memory to spare, or none of the Service."""
    plane.publish(KIND, ["full", "emptier"], Order.BY_ID)
    prefix = f"pull-{pull}"
    plane.declare({f"{prefix}-{count}": KIND.templates[count].spec for count in (1, 7, 8)})
    memory = {"memory": "600Gi"} if pull == "memory" else {}
    labels = {"app": "train"} if pull == "service" else {}
    with client_for(plane.sandbox.kubeconfig) as api:
        core: Any = client.CoreV1Api(api)
        if pull == "image":
            images = [{"names": ["ringfence.dev/simulated:latest"], "sizeBytes": 3 * 10**9}]
            core.patch_node_status("emptier", {"status": {"images": images}})
        if pull == "service":
            spec = {"selector": labels, "ports": [{"port": 80}]}
            core.create_namespaced_service(objects.JOBS, {"metadata": {"name": "train"}, "spec": spec})
    pods = [
        objects.pod(f"{prefix}-8", f"{prefix}-8", "full", {"cpu": "96", **memory}, "npu"),
        objects.pod(f"{prefix}-7", f"{prefix}-7", "emptier", {"cpu": "84"}, "npu"),
        objects.pod(f"{prefix}-1", f"{prefix}-1", None, {"cpu": "12", **memory}, "npu"),
    ]
    pods[0]["metadata"]["labels"] = pods[2]["metadata"]["labels"] = labels
    given = []
    for pod in pods:
        plane.start([pod])
        given.append(plane.given(pod["metadata"]["name"], 60))
    plane.clear()
    assert [at.node if at else None for at in given] == ["full", "emptier", "full"]


@pytest.mark.real
def test_the_shipped_profile_finds_the_fullest_of_more_nodes_than_the_scheduler_looks_at_by_default(
    plane: Cluster,
) -> None:
    """Of a hundred and twenty it would look at a hundred, from another one on each time."""
    plane.publish(KIND, [f"many-{number:03}" for number in range(120)], Order.BY_ID)
    plane.declare({f"many-{count}": KIND.templates[count].spec for count in (1, 8)})
    plane.start([objects.pod("many-first", "many-8", "many-042", {"cpu": "96"}, "npu")])
    assert plane.given("many-first", 60) is not None
    nodes = set()
    for number in range(8):
        name = f"many-{number}"
        plane.start([objects.pod(name, "many-1", None, {"cpu": "12"}, "npu")])
        given = plane.given(name, 60)
        nodes.add(given.node if given else None)
    plane.clear()
    assert nodes == {"many-042"}, "eight NPUs were free on it"


@pytest.mark.real
def test_the_shipped_file_is_a_whole_configuration_for_the_real_scheduler(
    plane: Cluster, tools: Mapping[str, Path], tmp_path: Path
) -> None:
    """Just as it is, but for the path of the kubeconfig. The scheduler says what it makes of it."""
    wanted, made = tmp_path / "packing.yaml", tmp_path / "made.yaml"
    kubeconfig = layout.of(cluster.NAME).kubeconfig_of("scheduler")
    text = places.SCHEDULER_EXAMPLE.read_text(encoding="utf-8")
    assert SHIPPED["clientConnection"]["kubeconfig"] in text
    wanted.write_text(text.replace(SHIPPED["clientConnection"]["kubeconfig"], str(kubeconfig)), encoding="utf-8")
    command = [str(tools["kube-scheduler"]), f"--config={wanted}", f"--write-config-to={made}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load(made.read_text(encoding="utf-8"))
    assert found["leaderElection"]["leaderElect"] is True
    default, npu = found["profiles"]
    assert (default["schedulerName"], npu["schedulerName"]) == ("default-scheduler", "npu")
    enabled = [{plugin["name"]: plugin.get("weight") for plugin in _enabled(profile)} for profile in (default, npu)]
    off = {"NodeResourcesBalancedAllocation", "ImageLocality"}
    assert {name: weight for name, weight in enabled[0].items() if name not in off} == enabled[1]
    assert off <= enabled[0].keys(), "pods of the default profile are scheduled as ever"


def _enabled(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(profile["plugins"]["multiPoint"]["enabled"])


def test_the_shipped_file_leaves_pods_that_name_no_profile_to_the_scheduler_as_it_is() -> None:
    assert SHIPPED["profiles"][0] == {"schedulerName": "default-scheduler"}
    assert SHIPPED.keys() == {"apiVersion", "kind", "clientConnection", "profiles"}, "what is global is global to all"
    assert [profile["schedulerName"] for profile in SHIPPED["profiles"]] == ["default-scheduler", "npu"]


def test_the_page_on_fragmentation_recommends_the_shipped_file_and_writes_no_other() -> None:
    page = (places.CHECKOUT / "docs" / "fragmentation.md").read_text(encoding="utf-8")
    assert f"../{places.SCHEDULER_EXAMPLE.relative_to(places.CHECKOUT)}" in page
    assert "KubeSchedulerConfiguration" not in page.replace("`KubeSchedulerConfiguration`", "")


@pytest.mark.parametrize(
    ("real", "allowed", "agrees"),
    [
        (Placed(1, 0b11), (Placed(0, 0b11), Placed(1, 0b11)), True),
        (Placed(2, 0b11), (Placed(0, 0b11), Placed(1, 0b11)), False),
        (Placed(1, 0b101), (Placed(1, 0b11),), False),
        (None, (Placed(1, 0b11),), False),
        (Placed(1, 0b11), (), False),
        (None, (), True),
    ],
)
def test_another_node_other_npus_or_another_verdict_is_a_mismatch(
    real: Placed | None, allowed: tuple[Placed, ...], agrees: bool
) -> None:
    assert Decision(2, (0b111,) * 3, real, allowed, 3).agrees is agrees


def test_whether_the_emptier_of_equal_nodes_is_taken_is_told() -> None:
    allowed = tuple(Placed(node, 0b1) for node in range(3))
    free = (0b1, 0b11, 0b111)
    taken = [Decision(1, free, at, allowed, 3).emptiness for at in allowed]
    assert taken == [0.0, 0.5, 1.0]
    assert Decision(1, free, allowed[1], allowed[1:2], 3).emptiness is None, "there was no choice"


def test_pods_ask_for_their_part_of_the_node() -> None:
    assert Pods("npu", ("cpu", "memory")).requests(4, 16) == {"cpu": "48000m", "memory": "393216Mi"}
    assert Pods("npu").requests(4, 16) == {}
