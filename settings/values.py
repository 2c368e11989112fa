"""The values that several keys share, each judged as the Kubernetes API would, but before anything is created."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator

from settings.section import refused

# Names, each to be matched whole; as Kubernetes has them in apimachinery, util/validation.
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""Without its limit of 253 characters."""
QUALIFIED_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""The value of a label, and of a label's key what follows the domain."""
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Of an environment variable: narrower than Kubernetes, so that every shell can read it."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REPOSITORY = re.compile(
    r"(([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
    r"(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*"
)
"""As distribution/reference has it: host[:port]/, then components in lower case."""
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_CPU = re.compile(r"([1-9][0-9]*)(m?)")
_MEMORY = re.compile(r"([1-9][0-9]*)(Ki|Mi|Gi|Ti)")


def _filled(value: str) -> str:
    if not value.strip():
        raise refused("is empty.", "Write a value.")
    return value


def _namespace(value: str) -> str:
    if not DNS_LABEL.fullmatch(value):
        raise refused(
            f"{value!r} cannot be a namespace.",
            "Use up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends.",
        )
    return value


def _object(value: str) -> str:
    if not DNS_LABEL.fullmatch(value):
        raise refused(
            f"{value!r} cannot be a name.",
            "Use up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends.",
        )
    return value


def _node(value: str) -> str:
    if len(value) > 253 or not SUBDOMAIN.fullmatch(value):
        raise refused(f"{value!r} cannot be a node's name.", "Write it as kubectl get nodes prints it.")
    return value


def _absolute(value: str) -> str:
    if not value.startswith("/") or "/../" in f"{value}/" or (value.endswith("/") and value != "/"):
        raise refused(
            f"{value!r} is not a plain absolute path.", "Start it with /, without .. and without a / at its end."
        )
    return value


def _image(value: str) -> str:
    name, at, digest = value.partition("@")
    last = name.rpartition("/")[2]
    tag = last.partition(":")[2] if ":" in last else ""
    if not name or re.search(r"\s", value):
        raise refused(f"{value!r} is not an image.", "Write registry/repository@sha256:… or registry/repository:tag.")
    if not _REPOSITORY.fullmatch(name.removesuffix(f":{tag}")):
        raise refused(
            f"{value!r} is not an image: no node could pull it.",
            "Write registry/repository@sha256:… or registry/repository:tag, without https:// and the repository in "
            "lower case.",
        )
    if at:
        if not _DIGEST.fullmatch(digest):
            raise refused(f"the digest of {value!r} is cut or not sha256.", "Write all 64 hexadecimal digits of it.")
    elif not tag or tag == "latest":
        raise refused(
            f"{value!r} is whatever was pushed last, so two nodes may run two different ones.",
            "Add a digest (@sha256:…) or at least a tag other than latest.",
        )
    elif not _TAG.fullmatch(tag):
        raise refused(f"{tag!r} cannot be a tag.", "Use letters, digits, _, . and -.")
    return value


def is_qualified(value: str) -> bool:
    """Whether it is `name` or `domain/name`, as a label's key has to be (facts: apimachinery, qualified names)."""
    domain, slash, name = value.rpartition("/")
    if slash and not (len(domain) <= 253 and SUBDOMAIN.fullmatch(domain)):
        return False
    return QUALIFIED_NAME.fullmatch(name) is not None


def _labels(value: dict[str, str]) -> dict[str, str]:
    for key, text in value.items():
        if not is_qualified(key):
            raise refused(f"{key!r} cannot be a label's key.", "Write name or domain/name.")
        if text and not QUALIFIED_NAME.fullmatch(text):
            raise refused(
                f"{text!r} cannot be the value of label {key}.", "Use up to 63 letters, digits, -, _ and dots."
            )
    return value


def _extended_resource(value: str) -> str:
    domain, slash, _ = value.rpartition("/")
    if not slash or not is_qualified(value):
        raise refused(f"{value!r} is not an extended resource.", "Write domain/name, such as huawei.com/npu.")
    if domain.endswith("kubernetes.io") or domain.startswith("requests."):
        raise refused(f"{domain} is a domain of Kubernetes itself.", "Use a domain of yours or of the vendor.")
    return value


def _share(value: Any) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    if isinstance(value, str) and re.fullmatch(r"([1-9]\d?|100)%", value):
        return value
    raise refused(f"{value!r} is no number of nodes.", 'Write a number from 1 on, or a percentage such as "10%".')


def _quantities(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if name == "cpu":
            found, step, forms = _CPU.fullmatch(text), 1000, 'cores ("2") or thousandths of one ("250m")'
            reducible = found is not None and found[2] == "m" and int(found[1]) % step == 0
        elif name in {"memory", "ephemeral-storage"}:
            found, step, forms = _MEMORY.fullmatch(text), 1024, 'whole binary units ("128Mi", "1Gi")'
            reducible = found is not None and found[2] != "Ti" and int(found[1]) % step == 0
        else:
            raise refused(f"{name!r} is nothing a container can ask for.", "Write cpu, memory or ephemeral-storage.")
        if found is None:
            raise refused(f"{name} {text!r} is not in the form it is kept in.", f"Write {forms}.")
        if reducible:
            # The server would keep the shorter form, and every refresh would then see a difference.
            raise refused(
                f"{name} {text!r} would be rewritten by the API server and then differ from this file.",
                f"Write it in the next larger unit, as {int(found[1]) // step}{_larger(found[2])}.",
            )
    return value


def _larger(unit: str) -> str:
    return {"m": "", "Ki": "Mi", "Mi": "Gi", "Gi": "Ti"}[unit]


Text = Annotated[str, AfterValidator(_filled)]
Namespace = Annotated[str, AfterValidator(_namespace)]
ObjectName = Annotated[str, AfterValidator(_object)]
NodeName = Annotated[str, AfterValidator(_node)]
HostPath = Annotated[str, AfterValidator(_absolute)]
Image = Annotated[str, AfterValidator(_image)]
Labels = Annotated[dict[str, str], AfterValidator(_labels)]
ExtendedResource = Annotated[str, AfterValidator(_extended_resource)]
NodeShare = Annotated[int | str, PlainValidator(_share)]
Quantities = Annotated[dict[str, str], AfterValidator(_quantities)]
