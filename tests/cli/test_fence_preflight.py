"""`ringfence fence preflight --ssh`: hosts in a table and as data. The ssh on PATH is a stand-in."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.components.preflight.roots import root

# Stands in for ssh: notes how it was called, and is the host whose root folder has the name that was asked for.
SSH = """#!/bin/sh
here={folder}
echo "$*" >> "$here/calls"
for command; do host=${{last-}}; last=$command; done
case $host in
silent) sleep 60 ;;
closed) echo "ssh: connect to host closed port 22: Connection refused" >&2; exit 255 ;;
strange) echo "This account is not available."; exit 1 ;;
*) test "$command" = "sh -s" && exec sh -s -- "$here/${{host#*@}}" ;;
esac
"""


@dataclass(frozen=True)
class Hosts:
    folder: Path

    def judged(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["fence", "preflight", *words])

    def data(self, *words: str) -> dict[str, dict[str, str]]:
        """Host → check → "state what remedy"."""
        found = json.loads(self.judged("--json", *words).stdout)
        return {
            host: {one["name"]: f"{one['state']} {one['what']} {one['remedy']}".rstrip() for one in checks}
            for host, checks in found.items()
        }


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    folder = tmp_path / "hosts"
    root(folder / "good")
    root(folder / "bad", {"proc/cmdline": "quiet\n", "etc/containerd/config.toml": 'disabled_plugins = ["cri"]\n'})
    root(folder / "used", {"opt/kata/VERSION": "3.15.0\n", "etc/containerd/config.toml.bak": "old\n"})
    stub = tmp_path / "bin"
    stub.mkdir()
    (stub / "ssh").write_text(SSH.format(folder=folder))
    (stub / "dmesg").write_text("#!/bin/sh\nexit 1\n")
    for file in stub.iterdir():
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub}:{os.environ['PATH']}")
    return Hosts(folder)


def test_a_good_host_ends_with_0_and_nothing_to_do(hosts: Hosts) -> None:
    done = hosts.judged("--ssh", "root@good")
    assert done.exit_code == 0, done.output
    assert "17 ok, 0 failed, 0 unknown" in done.stdout.splitlines()
    assert done.stdout.splitlines()[1].split()[:3] == ["root@good", "architecture", "ok"]


def test_a_bad_host_ends_with_1_and_each_remedy(hosts: Hosts) -> None:
    done = hosts.judged("--ssh", "good", "--ssh", "bad")
    assert done.exit_code == 1
    assert "Add it to the boot loader's configuration and reboot." in done.stdout
    assert "Take it out of disabled_plugins and restart containerd." in done.stdout
    assert "32 ok, 2 failed, 0 unknown" in done.stdout.splitlines()


def test_ssh_is_asked_no_questions_and_gets_the_script_on_standard_input(hosts: Hosts) -> None:
    hosts.judged("--ssh", "root@good")
    (call,) = (hosts.folder / "calls").read_text().splitlines()
    assert call == "-o BatchMode=yes -o ConnectTimeout=15 -T -- root@good sh -s"


def test_hosts_that_tell_nothing_are_told_apart_and_end_with_1_in_time(hosts: Hosts) -> None:
    started = time.monotonic()
    words = [word for host in ("silent", "closed", "strange", "good") for word in ("--ssh", host)]
    found = hosts.data("--timeout", "5", *words)
    assert time.monotonic() - started < 30, "they are asked at the same time, and none for longer than that"
    assert found["silent"]["facts"].startswith("failed ssh has not come back after 5 s.")
    assert found["closed"]["facts"].startswith(
        "failed ssh ended with status 255: ssh: connect to host closed port 22: Connection refused."
    )
    assert found["strange"]["facts"].startswith("failed the script did not run there: This account is not available.")
    assert found["good"]["virtCCA"] == "ok the kernel says that it is enabled."


def test_without_an_ssh_that_is_said(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hosts.data("--ssh", "good")["good"]["facts"].startswith("failed there is no ssh on this machine's PATH.")


def test_what_the_stack_itself_has_installed_is_no_fault(hosts: Hosts) -> None:
    assert hosts.data("--ssh", "used")["used"]["Kata"].startswith("failed Kata 3.15.0 is there already")
    assert hosts.judged("--ssh", "used", "--installed").exit_code == 0


def test_passthrough_and_large_guests_are_judged_where_they_are_wanted(hosts: Hosts) -> None:
    found = hosts.data("--ssh", "good", "--passthrough", "--secure-memory", "70000")["good"]
    assert found["CDI"].startswith("failed /etc/cdi has no spec")
    assert found["secure memory"].startswith("failed no NUMA node has 70000 MiB")
    assert "CDI" not in hosts.data("--ssh", "good")["good"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing to look at. Name a cluster with --context, hosts with --ssh, or both."),
        (["--context", "here"], "--context needs --image: an image with a POSIX sh, which runs on the nodes."),
        (
            ["--ssh", "good", "--secure-memory", "1025"],
            "--secure-memory 1025 is odd. Secure memory is given out in steps of 2 MiB.",
        ),
    ],
)
def test_a_wrong_question_ends_with_2(hosts: Hosts, words: list[str], says: str) -> None:
    done = hosts.judged(*words)
    assert done.exit_code == 2
    assert done.stderr.strip() == f"ringfence: {says}"


def test_a_cluster_that_is_not_there_ends_with_1(hosts: Hosts, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "none"
    done = hosts.judged("--context", "here", "--image", "busybox:1", "--kubeconfig", str(kubeconfig))
    assert done.exit_code == 1
    assert done.stderr.startswith("ringfence: the cluster here cannot be reached:")
    assert "Traceback" not in done.output
