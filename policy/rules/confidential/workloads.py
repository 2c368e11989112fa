"""Confidential pods: what their guest's kernel is told, and what of them is measured."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.rules.confidential.find import kernel_params, pods
from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject

_KBC = re.compile(r"cc_kbc::https?://[^\s:/]+:\d+")


def _kbc(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for _, metadata in pods(subject):
        for view, name, value in kernel_params(metadata):
            if name == "agent.aa_kbc_params" and not _KBC.fullmatch(value):
                yield Finding(
                    view.path,
                    f"agent.aa_kbc_params={value} is not in the form that the guest's agent reads, so it finds no key "
                    "broker.",
                    "Write agent.aa_kbc_params=cc_kbc::https://HOST:PORT, with one :: and both slashes.",
                )


def _pod(parameters: str, annotation: str = "") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: scorer
  namespace: inference
  annotations: {{{annotation}}}
spec:
  template:
    metadata:
      annotations:
        io.katacontainers.config.hypervisor.kernel_params: {parameters}
    spec:
      runtimeClassName: kata-qemu-virtcca
      containers:
      - name: scorer
        image: registry.example/scorer:1
"""


KBC = Rule(
    id="aa-kbc-params",
    title="agent.aa_kbc_params is cc_kbc::http(s)://host:port",
    why="The agent splits it at ::, exactly one, and takes the rest for the key broker's address. A public guide "
    "shows it without the slashes.",
    group=Group.CONFIDENTIAL,
    remedy="cc_kbc::https://kbs.example.com:8080",
    check=_kbc,
    complies=Example(_pod("agent.aa_kbc_params=cc_kbc::https://kbs.example.com:8080")),
    violates=Example(_pod("agent.aa_kbc_params=cc_kbc::http:10.0.0.1:8080")),
)


def _console(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for _, metadata in pods(subject):
        for view, name, value in kernel_params(metadata):
            if name.startswith("agent.debug_console") or (name == "agent.log" and value in {"debug", "trace"}):
                shown = f"{name}={value}" if value else name
                yield Finding(
                    view.path,
                    f"{shown} shows the inside of the guest to its host, from which it is to be kept.",
                    "Remove it.",
                )


CONSOLE = Rule(
    id="guest-debugging",
    title="No guest has a debug console or logs for debugging",
    why="A debug console is a shell in the guest for whoever is root on the host; the agent's debug log holds what "
    "it is asked to run.",
    group=Group.CONFIDENTIAL,
    remedy="Remove agent.debug_console and agent.log=debug.",
    check=_console,
    complies=Example(_pod("agent.guest_components_rest_api=all")),
    violates=Example(_pod("agent.debug_console agent.log=debug")),
)

_THREE = re.compile(r"kbs://(/|[^/\s]+/)[^/\s]+/[^/\s]+/[^/\s]+")


def _uris(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for _, metadata in pods(subject):
        for view, name, value in kernel_params(metadata):
            if value.startswith("kbs:") and not _THREE.fullmatch(value):
                yield Finding(
                    view.path,
                    f"{name}={value} is no address of a resource: it has a repository, a type and a tag, three parts.",
                    "Write kbs:///default/<Secret>/<key>.",
                )


URIS = Rule(
    id="kbs-uri",
    title="A resource of the key broker is named by three segments",
    why="The key broker looks resources up as repository/type/tag. With trustee-operator the repository is default, "
    "the type a Secret's name and the tag its key.",
    group=Group.CONFIDENTIAL,
    remedy="kbs:///default/<Secret>/<key>",
    check=_uris,
    complies=Example(_pod("agent.image_policy_file=kbs:///default/security-policy/prod")),
    violates=Example(_pod("agent.image_policy_file=kbs:///security-policy/prod")),
)

RIM_INPUTS = "ringfence.dev/rim-inputs"
_MEASURED = "virtcca"


def _rim(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for spec, _ in pods(subject):
        name = spec.at("runtimeClassName").text()
        annotation = subject.view.at("metadata", "annotations", RIM_INPUTS)
        if name is not None and _MEASURED in name and annotation.absent:
            yield Finding(
                (*spec.path, "runtimeClassName"),
                "Its kernel parameters, CPUs, memory and devices are measured, and nothing here says what they were: a "
                "change of them passes as any other, and then its pods get no key.",
                f"Make it with ringfence's ConfidentialWorkload, which records them as {RIM_INPUTS} and tells when "
                "reference values have to be computed anew.",
            )


RIM = Rule(
    id="rim-inputs",
    title="A virtCCA workload records what of it is measured",
    why="The initial measurement of a realm covers kernel, command line (with the key broker's address), CPUs, memory, "
    "devices and QEMU. Whoever changes one of them has to compute the reference values anew, first.",
    group=Group.CONFIDENTIAL,
    remedy="Record the inputs, and recompute reference values when they change.",
    check=_rim,
    prod=Level.WARNING,
    complies=Example(_pod("agent.guest_components_rest_api=all", f"""{RIM_INPUTS}: '{{"vcpus":4}}'""")),
    violates=Example(_pod("agent.guest_components_rest_api=all")),
)

RULES = (KBC, CONSOLE, URIS, RIM)
