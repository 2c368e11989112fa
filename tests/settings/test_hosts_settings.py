"""The sections `fence.preflight` and `fence.artifacts`: what is wrong is told by key, with the reason and the "
"remedy."""

from __future__ import annotations

from typing import Any

import pytest

from components.hosts_from_settings import KDEPLOY, artifacts_args
from settings.artifacts import Artifacts
from settings.preflight import Preflight
from settings.section import Section
from tests.settings.test_operators import said

COMMIT = "a" * 40
HOST = {"address": "10.0.0.7", "privateKey": "ssh-key", "hostKey": "ssh-ed25519 AAAA"}
ARTIFACTS: dict[str, Any] = {
    "folder": "/var/lib/build",
    "registry": "registry.example:5000/coco",
    "sources": {"virtccaSdk": {"url": "https://example.org/sdk.git", "commit": COMMIT}},
    "builds": {"kata": {"step": "kdeploy", "images": {"payload": "kata-deploy:3.15.0"}}},
}
BUILD = {"command": "make", "files": [{"path": "a"}]}

PROBLEMS: list[tuple[type[Section], dict[str, Any], str]] = [
    (Preflight, {}, "nothing is looked at. Write hosts or job, or remove the section."),
    (
        Preflight,
        {"job": {"image": "a:1", "nodes": []}},
        "job: nodes is empty, so nothing would be looked at. Name the nodes, or remove job.",
    ),
    (
        Preflight,
        {"hosts": {"a": HOST}, "secureMemoryMib": 1025},
        "secureMemoryMib: 1025 is odd, and secure memory is given out in steps of 2 MiB. Write an even number.",
    ),
    (Preflight, {"job": {"image": "a:1", "nodes": ["a", "b", "a"]}}, "job: nodes has a twice. Remove one."),
    (
        Preflight,
        {"job": {"image": "a:1", "nodes": ["A b"]}},
        "job.nodes[0]: 'A b' cannot be a node's name. Write it as kubectl get nodes prints it.",
    ),
    (
        Preflight,
        {"hosts": {"a": HOST}, "job": {"image": "a:1", "nodes": ["a"]}},
        "a is among hosts and among the nodes of job. Look at it in one way: remove one.",
    ),
    (
        Preflight,
        {"hosts": {"a::b": HOST}},
        "hosts[\"a::b\"]: 'a::b' cannot be what a host is called here. Use letters, digits, -, _ and dots.",
    ),
    (
        Preflight,
        {"hosts": {"a": HOST | {"hostKey": "10.0.0.7 ssh-ed25519 AAAA"}}},
        'hosts.a.hostKey: is no public key of a host. Write it as in /etc/ssh/ssh_host_ed25519_key.pub, "ssh-ed25519 '
        'AAAA…"; of what ssh-keyscan prints, without the host in front.',
    ),
    (
        Preflight,
        {"hosts": {"a": HOST | {"address": "root@10.0.0.7"}}},
        "hosts.a.address: 'root@10.0.0.7' is no host name and no address. Write it alone: user and port have keys of "
        "their own.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"sources": {"virtccaSdk": {"url": "https://me:seen@example.org/sdk.git", "commit": COMMIT}}},
        "sources.virtccaSdk.url: has a password in it, which is not repeated here. Take it for known; write the "
        "address without it, and let git on the builder have its own credentials.",
    ),
    (Preflight, {"hosts": {"a": HOST | {"port": 0}}}, "hosts.a.port: is 0. Write at least 1."),
    (
        Artifacts,
        ARTIFACTS | {"sources": {"virtccaSdk": {"url": "x", "commit": "9c77650"}}},
        "sources.virtccaSdk.commit: '9c77650' is no whole commit. Write all 40 digits of it, as git rev-parse prints "
        "them.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"sources": {}},
        "build kata needs the source virtccaSdk. Add sources.virtccaSdk.",
    ),
    (Artifacts, ARTIFACTS | {"builds": {}}, "builds is empty. Name a build, or remove the section."),
    (
        Artifacts,
        ARTIFACTS | {"registry": "https://registry.example"},
        "registry: 'https://registry.example' is no registry. Write host[:port][/path], without https:// and / at "
        "its end.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"builds": {"kata": {}}},
        "builds.kata: a build is a step or a command. Write step: kdeploy, or command.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"builds": {"kata": {"step": "kdeploy"}}},
        "builds.kata: kdeploy makes one image, and it is called payload. Write images: {payload: name:tag}.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"builds": {"x": {"command": "make"}}},
        "builds.x: nothing has to come out of it. Name what does, in files or images.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"builds": {"x": BUILD | {"files": [{"path": "../a"}]}}},
        "builds.x.files[0].path: '../a' leaves the build's folder. "
        "Write a path from there, without .. and / at its start.",
    ),
    (
        Artifacts,
        ARTIFACTS | {"builds": {"x": BUILD | {"images": {"a": "registry.example:5000/a:1"}}}},
        "builds.x.images.a: 'registry.example:5000/a:1' is no image below the registry. "
        "Write repository:tag, without the registry.",
    ),
]


@pytest.mark.parametrize(("section", "written", "sentence"), PROBLEMS)
def test_a_wrong_section_says_which_key_why_and_what_instead(
    section: type[Section], written: dict[str, Any], sentence: str
) -> None:
    (found,) = said(section, written)
    assert found.removeprefix(":").strip() == sentence


def test_the_known_step_is_checked_for_what_its_tool_does_not_check() -> None:
    args = artifacts_args(Artifacts.model_validate(ARTIFACTS), {})
    kata = args.builds["kata"]
    assert kata.command == KDEPLOY
    assert kata.commits == {"kata-containers/build/virtCCA_sdk": "virtccaSdk"}, "the tool fetches the newest by itself"
    assert kata.patched == ["kata-containers"], "the tool goes on when a patch does not fit"
    assert "/qemu-system-aarch64-virtcca-experimental" in kata.files[0].contains


@pytest.mark.parametrize("section", [Preflight, Artifacts])
def test_every_key_is_described(section: type[Section]) -> None:
    assert all(field.description for field in section.model_fields.values())
