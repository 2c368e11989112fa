"""The shapes of `HostPreflight`, with mocks: what is asked for, and that a host that is not fit fails the program."""

from __future__ import annotations

import pulumi
import pytest

from components.cluster_view import UnreachableError
from components.host_preflight import HostPreflight, HostPreflightArgs, Jobs, UnfitError, verdict
from components.preflight.judge import Requirements
from tests.components.preflight.roots import root, run
from tests.components.recording import Recorded, record


def recorded(again: str, said: str) -> Recorded:
    def program() -> None:
        jobs = Jobs(nodes=["node-b"], image="registry.example/sh:1", read_log=lambda _: said)
        HostPreflight("preflight", HostPreflightArgs(jobs=jobs, again=again))

    return record(program)


def test_a_node_gets_a_job_that_is_another_one_when_asked_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    said = run(root(tmp_path_factory.mktemp("a") / "host"))
    first, second = (recorded(again, said).one("kubernetes:batch/v1:Job") for again in ("1", "2"))
    assert first.parent == "preflight"
    assert first.inputs["spec"]["template"]["spec"]["nodeName"] == "node-b"
    assert first.inputs["metadata"]["namespace"] == "kube-system"
    assert first.inputs["metadata"]["name"] != second.inputs["metadata"]["name"], "a Job cannot be changed"


def test_a_node_that_is_not_fit_fails_the_program_with_its_verdict(tmp_path_factory: pytest.TempPathFactory) -> None:
    said = run(root(tmp_path_factory.mktemp("a") / "host", {"proc/cmdline": "quiet\n"}))
    with pytest.raises(pulumi.RunError, match="Host node-b is not fit for confidential containers"):
        recorded("1", said)


def test_a_verdict_names_what_failed_and_what_to_do_then(tmp_path_factory: pytest.TempPathFactory) -> None:
    said = run(root(tmp_path_factory.mktemp("a") / "host", {"sys/fs/selinux/enforce": "1"}))
    with pytest.raises(UnfitError) as caught:
        verdict("a", said, Requirements(), "Then again.")
    assert str(caught.value).splitlines() == [
        "Host a is not fit for confidential containers:",
        "  SELinux: it is enforcing. setenforce 0, and SELINUX=permissive in /etc/selinux/config.",
        "  Then again.",
    ]


def test_a_cluster_that_does_not_answer_is_told_in_a_line() -> None:
    def unread(_: str) -> str:
        raise UnreachableError("the cluster here cannot be reached: timed out")

    def program() -> None:
        jobs = Jobs(nodes=["node-b"], image="registry.example/sh:1", read_log=unread)
        HostPreflight("preflight", HostPreflightArgs(jobs=jobs))

    with pytest.raises(pulumi.RunError) as caught:
        record(program)
    assert str(caught.value) == (
        "What was found on node node-b cannot be read: the cluster here cannot be reached: timed out. "
        "Run pulumi up again."
    )
