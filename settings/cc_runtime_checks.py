"""What no single key of `ccRuntime` can be blamed for, and what production does not allow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address, ip_network

from settings.cc_runtime import CcRuntimeSettings
from settings.errors import Problem
from settings.explain import Loc, dotted
from settings.images import by_digest


def judge_cc_runtime(
    runtime: CcRuntimeSettings, at: Loc, *, production: bool, kbs_host: str | None = None
) -> list[Problem]:
    """at: where it is in the stack file. kbs_host: the host of the key broker as guests are told it, if they are."""
    found = [*_twice(runtime, at), *_classes(runtime, at), *_proxy(runtime, at, kbs_host)]
    return [*found, *_production(runtime, at)] if production else found


def _twice(runtime: CcRuntimeSettings, at: Loc) -> Iterator[Problem]:
    lists: dict[str, tuple[str, ...]] = {
        "nodes": runtime.nodes,
        "allowedHypervisorAnnotations": runtime.allowed_hypervisor_annotations,
        "runtimeClasses": tuple(one.name for one in runtime.runtime_classes),
    }
    for key, entries in lists.items():
        for index, entry in enumerate(entries):
            if entry in entries[:index]:
                yield Problem(dotted([*at, key, index]), f"{entry} is there twice.", "Remove one.")


def _classes(runtime: CcRuntimeSettings, at: Loc) -> Iterator[Problem]:
    names = [one.name for one in runtime.classes]
    if runtime.default_class not in names:
        yield Problem(
            dotted([*at, "defaultRuntimeClass"]),
            f"{runtime.default_class} is not among the runtime classes.",
            f"Write one of {', '.join(names)}, or add it to runtimeClasses.",
        )
    known = runtime.chosen.runtime_class_names()
    strangers = [name for name in names if name not in known]
    for index, one in enumerate(runtime.runtime_classes):
        if one.name in strangers:
            yield Problem(
                dotted([*at, "runtimeClasses", index, "name"]),
                f"{one.name} is no class of the preset {runtime.preset}, so its payload may have no such shim.",
                f"Write {', '.join(known)}, or another preset.",
            )


def _proxy(runtime: CcRuntimeSettings, at: Loc, kbs_host: str | None) -> Iterator[Problem]:
    if runtime.guest_no_proxy and runtime.guest_https_proxy is None:
        yield Problem(
            dotted([*at, "guestNoProxy"]),
            "there is no guestHttpsProxy that it would be an exception from.",
            "Remove it, or write guestHttpsProxy.",
        )
    if runtime.guest_https_proxy is None or kbs_host is None or bypasses(kbs_host, runtime.guest_no_proxy):
        return
    yield Problem(
        dotted([*at, "guestNoProxy"]),
        f"the key broker {kbs_host} is not in it, so guests would ask the proxy for their keys.",
        f"Add {kbs_host}.",
    )


def bypasses(host: str, no_proxy: tuple[str, ...]) -> bool:
    """Whether one of the entries is the host, a domain above it (.example.org, *.example.org) or its network."""
    for entry in no_proxy:
        if "/" in entry:
            if _within(host, entry):
                return True
            continue
        domain = entry.removeprefix("*").removeprefix(".")
        if host == domain or host.endswith(f".{domain}"):
            return True
    return False


def _within(host: str, network: str) -> bool:
    with suppress(ValueError):
        return ip_address(host) in ip_network(network, strict=False)
    return False


def _production(runtime: CcRuntimeSettings, at: Loc) -> Iterator[Problem]:
    images = {
        "payloadImage": runtime.payload_image,
        "preInstallImage": runtime.pre_install_image,
        "postUninstallImage": runtime.post_uninstall_image,
    }
    for key, image in images.items():
        if image is not None and not by_digest(image):
            yield Problem(
                dotted([*at, key]),
                f"{image} is named by a tag, and who can move the tag becomes root on every confidential node.",
                "Add its digest (@sha256:…), or set production: false for a stack that only tries things out.",
            )
    if runtime.debug:
        yield Problem(
            dotted([*at, "debug"]),
            "a guest that logs everything tells the host what it is to keep from it.",
            "Write false, or set production: false for a stack that only tries things out.",
        )
