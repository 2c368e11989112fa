"""A cluster and its nodes are judged by what the API server tells, and a host with both together."""

from __future__ import annotations

from typing import Any

import pytest

from components.preflight.cluster import is_installed, judge_cluster, judge_node, merged
from components.preflight.judge import Requirements, judge
from tests.components.preflight.roots import GOOD_FACTS

PLAIN = Requirements()


def node(**changes: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": changes.get("ready", "True"), "message": changes.get("message", "")}
    info = {"containerRuntimeVersion": changes.get("runtime", "containerd://1.7.27")}
    return {
        "metadata": {"name": "a", "labels": changes.get("labels")},
        "status": {"conditions": [ready], "nodeInfo": info},
    }


def daemon(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


@pytest.mark.parametrize(
    ("version", "daemons", "says"),
    [
        ("v1.32.4", [], ["Kubernetes: it is v1.32.4.", "kata-deploy: there is none of its own in kube-system."]),
        (
            "v1.23.17+x",
            ["kube-proxy", "kata-deploy"],
            [
                "Kubernetes: it is v1.23.17+x, and 1.24 is needed. Upgrade it.",
                "kata-deploy: DaemonSet kata-deploy is in kube-system. "
                "Remove it first: kubectl -n kube-system delete daemonset kata-deploy.",
            ],
        ),
        (
            "unreleased",
            [],
            [
                "Kubernetes: it calls itself 'unreleased'. It has to be 1.24 at least.",
                "kata-deploy: there is none of its own in kube-system.",
            ],
        ),
    ],
)
def test_a_cluster_is_new_enough_and_has_no_second_installer(version: str, daemons: list[str], says: list[str]) -> None:
    assert [str(check) for check in judge_cluster(version, [daemon(name) for name in daemons])] == says


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, ["node: it is Ready.", "containerd: containerd is 1.7.27."]),
        (
            {"ready": "False", "message": "PLEG is not healthy.", "runtime": "cri-o://1.30.0"},
            [
                "node: it is not Ready: PLEG is not healthy. See systemctl status kubelet on the host.",
                "containerd: its kubelet runs containers with cri-o://1.30.0. "
                "Confidential containers of this stack need containerd 1.7.",
            ],
        ),
        ({"runtime": ""}, ["node: it is Ready."]),
    ],
)
def test_a_node_is_judged_by_what_its_kubelet_says(changes: dict[str, Any], says: list[str]) -> None:
    assert [str(check) for check in judge_node(node(**changes))] == says


def test_the_kubelet_knows_better_than_a_binary_which_containerd_runs() -> None:
    from_api = judge_node(node(runtime="containerd://1.6.1"))
    checks = merged(from_api, judge(GOOD_FACTS, PLAIN))
    assert [check.state for check in checks if check.name == "containerd"] == ["failed"]
    assert len(checks) == len(judge(GOOD_FACTS, PLAIN)) + 1


def test_only_the_label_of_kata_deploy_makes_an_installation_the_stacks() -> None:
    assert is_installed(node(labels={"katacontainers.io/kata-runtime": "true"}))
    assert not is_installed(node(labels={"katacontainers.io/kata-runtime": "cleanup"}))
    assert not is_installed(node())
