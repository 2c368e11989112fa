"""One entry of `workloads` in the stack file: what a tenant writes to have pods in confidential VMs."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from settings.cc_runtime import Host, Proxy, RuntimeClassName
from settings.images import by_digest
from settings.section import Section, refused
from settings.values import Image, Namespace, ObjectName, Text

SWIOTLB_STEP_MI = 64
MEMORY_MOST_MI = 16 * 1024 * 1024
"""16 TiB, more than a host has: who writes more has another unit in mind."""
DEVICES_MOST = 14

_KBS_URL = re.compile(r"(https?)://([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?):([0-9]{1,5})")
_KBS_URI = re.compile(r"kbs:///[^/\s]+/[^/\s]+/[^/\s]+")
_CDI = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9_.]*/[a-zA-Z0-9][-a-zA-Z0-9_.]*=[-a-zA-Z0-9_.:]+")
_PARAM = re.compile(r"[!#-~]+")
_OWNED_PARAMS = {
    "agent.aa_kbc_params": "kbsUrl",
    "agent.enable_signature_verification": "signaturePolicyUri",
    "agent.guest_components_rest_api": "restApi",
    "agent.https_proxy": "guestHttpsProxy",
    "agent.image_policy_file": "signaturePolicyUri",
    "agent.image_registry_auth": "registryAuthUri",
    "agent.no_proxy": "guestNoProxy",
    "swiotlb": "swiotlbMi",
}


def _digest(value: str) -> str:
    if not by_digest(value):
        raise refused(
            f"{value} is not named by its digest, so the registry decides what runs in the guest.",
            "Add @sha256: and the 64 digits of the image that you have tested.",
        )
    return value


def _kbs_url(value: str) -> str:
    found = _KBS_URL.fullmatch(value)
    if found is None or not 0 < int(found[4]) < 65536:
        # An IPv6 address among others: the guest splits its parameter at ::.
        raise refused(
            f"{value!r} is no address of a key broker.",
            "Write http(s)://host:port, with the port, without a path and with a name rather than an IPv6 address.",
        )
    if found[2] == "localhost" or found[2].startswith("127."):
        raise refused(f"{found[2]} is the guest itself.", "Write the address at which a guest reaches the key broker.")
    return value


def _kbs_uri(value: str) -> str:
    if not _KBS_URI.fullmatch(value):
        raise refused(
            f"{value!r} does not name a resource of the key broker.",
            "Write kbs:///repository/type/tag with three parts; with trustee-operator the repository is default.",
        )
    return value


def _memory(value: int) -> int:
    if value < 1024 or value % 2:
        raise refused(
            f"{value} MiB cannot be secure memory.", "Write at least 1024, and an even number: it is given in 2 MiB."
        )
    if value > MEMORY_MOST_MI:
        raise refused(f"{value} MiB are more than any host has.", "Write it in MiB: 8 GiB are 8192.")
    return value


def _swiotlb(value: int) -> int:
    if value <= 0 or value % SWIOTLB_STEP_MI:
        raise refused(f"{value} MiB is no multiple of {SWIOTLB_STEP_MI}.", "Write 64, 128, 192, 256 and so on.")
    return value


def _device(value: str) -> str:
    if not _CDI.fullmatch(value):
        raise refused(f"{value!r} is no CDI device.", "Write vendor/class=name as in a file of /etc/cdi.")
    return value


def _params(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if name in _OWNED_PARAMS:
            raise refused(f"{name} has a key of its own.", f"Remove it and write {_OWNED_PARAMS[name]}.")
        if not name or re.search(r"[\s=]", name) or re.search(r"\s", text):
            raise refused(f"{name}={text} is not one word of a kernel command line.", "Write it without spaces.")
        if not _PARAM.fullmatch(f"{name}{text}"):
            # A quotation mark takes in what comes after it, and the kernel reads bytes.
            raise refused(
                f"{name}={text} is not read as written.", "Write letters, digits and signs of ASCII, no quotes."
            )
    return value


def _valued(value: Any) -> Any:
    for name, text in value.items() if isinstance(value, dict) else ():
        if text is None:
            raise refused(f"{name} has no value.", f'Write {name}: "" for a parameter without one.')
    return value


def _no_init_data(_: Any) -> Any:
    raise refused(
        "kata 3.15 hands init-data to remote hypervisors only, so a guest on this host would never see it.",
        "Remove it; what it would say goes to kernelParams or into the guest's image.",
    )


class WorkloadSettings(Section):
    """No secret belongs here: the host reads all of it. Secrets come from the key broker."""

    name: ObjectName = Field(description="the Deployment's name")
    namespace: Namespace = Field(description="the namespace, which is there already")
    image: Annotated[Image, AfterValidator(_digest)] = Field(description="the image, by digest")
    runtime_class: RuntimeClassName = Field(description="the runtime class, such as kata-qemu-virtcca")
    vcpus: int = Field(ge=1, description="the guest's CPUs")
    memory_mi: Annotated[int, AfterValidator(_memory)] = Field(
        description="the guest's memory in MiB; the image is unpacked in it"
    )
    replicas: int = Field(default=1, ge=0, description="the number of pods")
    kbs_url: Annotated[str, AfterValidator(_kbs_url)] | None = Field(
        default=None, description="where guests reach the key broker, https://host:port; without it, the stack's"
    )
    signature_policy_uri: Annotated[str, AfterValidator(_kbs_uri)] | None = Field(
        default=None, description="the policy that images have to fulfil, kbs:///default/security-policy/test"
    )
    registry_auth_uri: Annotated[str, AfterValidator(_kbs_uri)] | None = Field(
        default=None, description="what opens the registry to the guest, kbs:///default/credential/test"
    )
    image_pull_secrets: tuple[Text, ...] = Field(
        default=(), description="Secrets that open the registry to the host, which reads the manifest"
    )
    guest_https_proxy: Proxy | None = Field(default=None, description="the proxy by which this guest pulls images")
    guest_no_proxy: tuple[Host, ...] = Field(default=(), description="what it reaches without that proxy")
    rest_api: Literal["all", "attestation", "resource"] | None = Field(
        default=None, description="what the guest's REST API offers its containers: all, attestation or resource"
    )
    swiotlb_mi: Annotated[int, AfterValidator(_swiotlb)] | None = Field(
        default=None, description="the guest's bounce buffer in MiB; more for much memory or many CPUs"
    )
    devices: tuple[Annotated[str, AfterValidator(_device)], ...] = Field(
        default=(), description="CDI names of VFIO devices for the guest"
    )
    claim_templates: tuple[ObjectName, ...] = Field(
        default=(), description="ResourceClaimTemplates of its namespace; whether they reach a guest is not proven"
    )
    kernel_params: Annotated[dict[str, str], BeforeValidator(_valued), AfterValidator(_params)] = Field(
        default_factory=dict, description='further parameters of the guest\'s kernel; "" for one without a value'
    )
    create_timeout: int | None = Field(
        default=None, ge=1, description="seconds in which a container has to start, the pull included; Kata takes 60"
    )
    rollout_timeout: int = Field(default=600, ge=1, description="seconds that `pulumi up` waits for the pods")
    command: tuple[str, ...] = Field(default=(), description="instead of the image's entry point")
    args: tuple[str, ...] = Field(default=(), description="its arguments")
    env: dict[str, str] = Field(default_factory=dict, description="environment variables, none of them secret")
    init_data: Annotated[None, BeforeValidator(_no_init_data)] = Field(
        default=None, description="not supported by kata 3.15 here"
    )
