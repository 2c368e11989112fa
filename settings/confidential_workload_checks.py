"""What of a workload can only be judged with the runtime and the key broker at hand, and what production forbids."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from settings.cc_runtime import CcRuntimeSettings
from settings.cc_runtime_checks import bypasses
from settings.confidential_workload import DEVICES_MOST, WorkloadSettings
from settings.errors import Problem
from settings.explain import Loc, dotted


def judge_workload(
    workload: WorkloadSettings, at: Loc, *, production: bool, runtime: CcRuntimeSettings, kbs_url: str | None = None
) -> list[Problem]:
    """at: where it is in the stack file. kbs_url: the stack's key broker as guests reach it."""
    url = workload.kbs_url or kbs_url
    found = [*_runtime(workload, at, runtime, url), *_devices(workload, at, runtime), *_broker(workload, at, url)]
    return [*found, *_production(workload, at, runtime)] if production else found


def annotations_of(workload: WorkloadSettings, kbs_url: str | None) -> tuple[str, ...]:
    """The hypervisor annotations that its pods carry."""
    params = (
        workload.kbs_url or kbs_url,
        workload.signature_policy_uri,
        workload.registry_auth_uri,
        workload.guest_https_proxy,
        workload.rest_api,
        workload.swiotlb_mi,
        workload.kernel_params,
    )
    return ("default_vcpus", "default_memory", *(("kernel_params",) if any(params) else ()))


def _runtime(workload: WorkloadSettings, at: Loc, runtime: CcRuntimeSettings, kbs_url: str | None) -> Iterator[Problem]:
    key = dotted([*at, "runtimeClass"])
    names = [one.name for one in runtime.classes]
    if workload.runtime_class not in names:
        reason = f"{workload.runtime_class} is none of the runtime classes that are installed."
        yield Problem(key, reason, f"Write {', '.join(names)}.")
        return

    refused = sorted(
        set(annotations_of(workload, kbs_url)) - runtime.guest_annotations(workload.runtime_class),
    )
    if refused:
        yield Problem(
            key,
            f"{workload.runtime_class} is not known to accept the annotations {', '.join(refused)}, "
            "and with one that it does not, no pod starts.",
            "Add them to allowedHypervisorAnnotations of ccRuntime, or write another class.",
        )


def _devices(workload: WorkloadSettings, at: Loc, runtime: CcRuntimeSettings) -> Iterator[Problem]:
    key = dotted([*at, "devices"])
    if len(workload.devices) > DEVICES_MOST:
        yield Problem(key, f"a pod has room for {DEVICES_MOST} devices.", f"Write at most {DEVICES_MOST}.")
    if workload.devices and workload.runtime_class not in runtime.chosen.passthrough:
        where = ", ".join(runtime.chosen.passthrough) or "the preset virtcca"
        yield Problem(
            key, f"how {workload.runtime_class} is given devices is not documented.", f"Remove it, or use {where}."
        )
    for index, device in enumerate(workload.devices):
        if device in workload.devices[:index]:
            yield Problem(dotted([*at, "devices", index]), f"{device} is there twice.", "Remove one.")


def _broker(workload: WorkloadSettings, at: Loc, url: str | None) -> Iterator[Problem]:
    for key, value in (
        ("signaturePolicyUri", workload.signature_policy_uri),
        ("registryAuthUri", workload.registry_auth_uri),
    ):
        if value is not None and url is None:
            reason = "the guest is told no key broker to get it from."
            yield Problem(dotted([*at, key]), reason, "Write kbsUrl, or remove it.")
    if workload.guest_no_proxy and workload.guest_https_proxy is None:
        reason = "there is no guestHttpsProxy that it would be an exception from."
        yield Problem(dotted([*at, "guestNoProxy"]), reason, "Remove it, or write guestHttpsProxy.")
    host = urlsplit(url).hostname if url is not None else None
    if workload.guest_https_proxy is not None and host is not None and not bypasses(host, workload.guest_no_proxy):
        reason = f"the key broker {host} is not in it, so the guest would ask the proxy for its keys."
        yield Problem(dotted([*at, "guestNoProxy"]), reason, f"Add {host}.")


def _production(workload: WorkloadSettings, at: Loc, runtime: CcRuntimeSettings) -> Iterator[Problem]:
    otherwise = "or set production: false for a stack that only tries things out."
    pull_types = {one.name: one.pull_type for one in runtime.classes}
    if pull_types.get(workload.runtime_class) == "":
        reason = f"with {workload.runtime_class} the host pulls the image and can change it."
        yield Problem(dotted([*at, "runtimeClass"]), reason, f"Write a class with guest-pull, {otherwise}")
    # The stack's own is judged where it is described.
    if workload.kbs_url is not None and workload.kbs_url.startswith("http://"):
        reason = f"{workload.kbs_url} is not encrypted, so keys could be read and replaced on their way."
        yield Problem(dotted([*at, "kbsUrl"]), reason, f"Write https://, {otherwise}")
    for name, value in workload.kernel_params.items():
        if name.startswith("agent.debug_console") or (name == "agent.log" and value in {"debug", "trace"}):
            reason = "it shows the guest's inside to the host."
            yield Problem(dotted([*at, "kernelParams", name]), reason, f"Remove it, {otherwise}")
