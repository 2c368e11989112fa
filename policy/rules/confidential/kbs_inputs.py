"""What a KbsConfig is given: configuration, policies, reference values, and under which names."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from policy.rules.confidential.find import (
    CONFIG_MAPS,
    IMAGE_VARIABLES,
    SECRETS,
    env,
    is_kbs_config,
    kbs_configs,
    named,
    operator_container,
    same_cluster,
)
from policy.rules.confidential.kbs import example
from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.view import View
from settings.trustee import OPERATOR_POLICY_FILE

_CONFIG, _POLICY = "kbs-config.toml", "policy.rego"
_FLAGS = {
    "insecure_http": "serves keys without TLS",
    "insecure_api": "lets anyone who reaches it set keys and policies",
    "insecure_key": "believes attestation tokens whoever signed them",
}


def _toml(view: View) -> Mapping[str, Any]:
    try:
        return tomllib.loads(view.text() or "")
    except tomllib.TOMLDecodeError:
        return {}


def _is_config_map(subject: Subject) -> bool:
    return subject.kind == "ConfigMap" and subject.api_version == "v1"


def _insecure(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if not _is_config_map(subject):
        return
    view = subject.view.at("data", _CONFIG)
    read = _toml(view)
    for section in read.values():
        for flag, does in _FLAGS.items():
            if isinstance(section, Mapping) and section.get(flag) is True:
                yield Finding(view.path, f"{flag} is true: the key broker {does}.", f"Write {flag} = false.")


_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: trustee-operator-system}}
data:
  {file}: |
{lines}"""


def _map(name: str, file: str, text: str) -> str:
    return _MAP.format(name=name, file=file, lines="".join(f"    {line}\n" for line in text.splitlines()))


_HTTP = "[http_server]\ninsecure_http = {}\n"

INSECURE = Rule(
    id="kbs-insecure",
    title="The key broker's configuration switches nothing of its protection off",
    why="All of upstream's samples set insecure_http, insecure_api and insecure_key; each opens the key broker to "
    "everyone who can reach it.",
    group=Group.CONFIDENTIAL,
    remedy="false, with TLS, an administrator's public key and trusted certificates of the token's signer.",
    check=_insecure,
    complies=Example(_map("kbs-config", _CONFIG, _HTTP.format("false"))),
    violates=Example(_map("kbs-config", _CONFIG, _HTTP.format("true"))),
)

_OPEN = re.compile(
    r"^\s*(default\s+allow\s*:?=\s*true|allow\s*:?=\s*true|allow|allow\s*(if\s*)?\{\s*true\s*\}|allow\s+if\s+true)\s*$",
    re.MULTILINE,
)


def _open(subject: Subject, context: Context) -> Iterator[Finding]:
    if not is_kbs_config(subject) or not subject.view.at("spec").known():
        return
    field = subject.view.at("spec", "kbsResourcePolicyConfigMapName")
    if field.absent:
        yield Finding(
            ("spec",),
            "Without kbsResourcePolicyConfigMapName the image's own policy holds; that of Trustee 0.12 gives every "
            "key to any evidence but the sample's.",
            "Name a ConfigMap with the key policy.rego.",
            Level.WARNING,
        )
        return
    there = named(context, subject, "ConfigMap", field.text())
    text = Subject(there.manifest).view.at("data", _POLICY).text() if there is not None else None
    if text is not None and _OPEN.search(re.sub(r"#.*", "", text)):
        yield Finding(
            field.path,
            f"The resource policy {field.text()} allows everything: whoever attests as anything gets every key.",
            "Allow only what the attestation policy vouches for, such as an affirming status of every submod.",
        )


_NAMES = "kbsDeploymentType: AllInOneDeployment\nkbsResourcePolicyConfigMapName: resource-policy\n"
_REGO = "package policy\ndefault allow = {}\n"

OPEN = Rule(
    id="kbs-open-policy",
    title="The resource policy does not allow everything",
    why="The resource policy is all that stands between an attested guest and any key. The default of Trustee 0.12 "
    "refuses only sample evidence.",
    group=Group.CONFIDENTIAL,
    remedy="default allow = false, and a condition.",
    check=_open,
    whole=True,
    complies=Example(f"{example(_NAMES)}---\n{_map('resource-policy', _POLICY, _REGO.format('false'))}"),
    violates=Example(f"{example(_NAMES)}---\n{_map('resource-policy', _POLICY, _REGO.format('true'))}"),
)

_AS = "as-config.json"
_VERSION = re.compile(r":[a-z-]*v(\d+)\.(\d+)")


def _files(subject: Subject, context: Context) -> Iterator[Finding]:
    if not is_kbs_config(subject):
        return
    yield from _policy_file(subject, context)
    yield from _reference_values(subject, context)


def _policy_file(subject: Subject, context: Context) -> Iterator[Finding]:
    field = subject.view.at("spec", "kbsAttestationPolicyConfigMapName")
    name = field.text()
    if not name:
        return
    there = named(context, subject, "ConfigMap", name)
    data = Subject(there.manifest).view.at("data") if there is not None else None
    if data is not None and isinstance(data.value, Mapping) and OPERATOR_POLICY_FILE not in data.value:
        yield Finding(
            field.path,
            f"ConfigMap {name} has no key {OPERATOR_POLICY_FILE}, the only one that the operator mounts.",
            f"Name the key {OPERATOR_POLICY_FILE}.",
        )
    broker, version = _broker(subject, context), _version(subject, context)
    if broker == "Simple" or (broker == "Ear" and version is not None and version < (0, 14)):
        yield Finding(
            field.path,
            f"With the {broker} broker{_of(version)} the attestation service reads default.rego, and the operator "
            f"mounts this policy as {OPERATOR_POLICY_FILE}: it is ignored without a word.",
            "Mount it through kbsLocalCertCacheSpec as default.rego, or bring it with the image.",
        )


def _of(version: tuple[int, int] | None) -> str:
    return f" of Trustee {version[0]}.{version[1]}" if version is not None else ""


def _broker(kbs: Subject, context: Context) -> str | None:
    """As configured in the KBS (all in one) or in the attestation service of its own."""
    spec = kbs.view.at("spec")
    config = named(context, kbs, "ConfigMap", spec.at("kbsConfigMapName").text())
    if config is not None:
        read = _toml(Subject(config.manifest).view.at("data", _CONFIG))
        service = read.get("attestation_service")
        broker = service.get("attestation_token_broker") if isinstance(service, Mapping) else None
        if isinstance(broker, Mapping) and isinstance(broker.get("type"), str):
            return str(broker["type"])
    own = named(context, kbs, "ConfigMap", spec.at("kbsAsConfigMapName").text())
    if own is not None:
        found = _json(Subject(own.manifest).view.at("data", _AS).text())
        broker = found.get("attestation_token_broker") if isinstance(found, Mapping) else None
        kind = broker.get("type") if isinstance(broker, Mapping) else broker
        return kind if isinstance(kind, str) else None
    return None


def _version(kbs: Subject, context: Context) -> tuple[int, int] | None:
    """Of Trustee, where the tag of the operator's image of it says so."""
    for operator in context.of("Deployment"):
        container = operator_container(operator, "trustee-operator") if same_cluster(operator, kbs) else None
        for name in IMAGE_VARIABLES[:2] if container is not None else ():
            view = env(container).get(name) if container is not None else None
            found = _VERSION.search((view.text() or "") if view is not None else "")
            if found is not None:
                return int(found[1]), int(found[2])
    return None


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _reference_values(subject: Subject, context: Context) -> Iterator[Finding]:
    field = subject.view.at("spec", "kbsRvpsRefValuesConfigMapName")
    there = named(context, subject, "ConfigMap", field.text())
    version = _version(subject, context)
    if there is None or version is None:
        return
    values = _json(Subject(there.manifest).view.at("data", "reference-values.json").text())
    wanted, other = ("value", "hash-value") if version >= (0, 14) else ("hash-value", "value")
    for one in values if isinstance(values, list) else ():
        if isinstance(one, Mapping) and other in one and wanted not in one:
            yield Finding(
                field.path,
                f"A reference value has {other}, and Trustee {version[0]}.{version[1]} reads {wanted}.",
                f"Write it as {wanted}.",
            )
            return


_POLICIES = """\
kbsDeploymentType: AllInOneDeployment
kbsConfigMapName: kbs-config
kbsAttestationPolicyConfigMapName: attestation-rego
"""


def _with(broker: str) -> str:
    toml = f'[attestation_service.attestation_token_broker]\ntype = "{broker}"\n'
    return "---\n".join(
        [
            example(_POLICIES),
            _map("kbs-config", _CONFIG, toml),
            _map("attestation-rego", OPERATOR_POLICY_FILE, "package policy\ndefault allow = false\n"),
        ]
    )


FILES = Rule(
    id="kbs-policy-file",
    title="The attestation policy and the reference values are in the form that this Trustee reads",
    why="trustee-operator 0.5.0 mounts an attestation policy as default_cpu.rego. The Simple broker, and Ear up to "
    "0.13, read default.rego, so the policy is ignored and the built-in one holds. Reference values are hash-value "
    "up to 0.13 and value from 0.14. The version is known where an image's tag says it.",
    group=Group.CONFIDENTIAL,
    remedy="The file name and format of the version, through kbsLocalCertCacheSpec where the operator has another.",
    check=_files,
    whole=True,
    complies=Example(_with("Ear")),
    violates=Example(_with("Simple")),
)

_HASHED = re.compile(r"-(?=[0-9a-f]*\d)[0-9a-f]{8,64}$|-[bcdfghjkmnpqrstvwxz2456789]{10}$")


def _content(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.api_version != "v1" or subject.kind not in ("ConfigMap", "Secret") or not subject.is_placed():
        return
    fields = CONFIG_MAPS if subject.kind == "ConfigMap" else SECRETS
    for kbs in kbs_configs(context):
        if not _beside(subject, kbs, context):
            continue
        spec = Subject(kbs.manifest).view.at("spec")
        using = [key for key in fields if spec.at(key).text() == subject.name]
        shared = {one.text() for one in spec.at("kbsSecretResources").items()}
        fixed = not _HASHED.search(subject.name) and subject.view.at("immutable").known()
        if using and fixed and not subject.view.at("immutable").flag():
            yield Finding(
                ("metadata", "name"),
                f"{using[0]} names it, and its name says nothing of its content: when it changes, the key broker's "
                "pods go on with the old one.",
                "Put a hash of the content into the name (and make it immutable), so that the KbsConfig changes too.",
            )
        if subject.kind == "Secret" and subject.name in shared and _HASHED.search(subject.name):
            yield Finding(
                ("metadata", "name"),
                "Guests ask for it by this name, kbs:///default/<Secret>/<key>: with a hash of the content in it, each "
                "change breaks every address.",
                "Keep the name, and change the Secret where it is.",
            )


def _beside(subject: Subject, kbs: Subject, context: Context) -> bool:
    return context.namespace_of(subject) == context.namespace_of(kbs) and same_cluster(subject, kbs)


_REFERS = "kbsDeploymentType: AllInOneDeployment\nkbsConfigMapName: {}\n"

CONTENT = Rule(
    id="kbs-content-names",
    title="What the key broker reads at its start is named after its content; what guests ask for is not",
    why="ConfigMaps and Secrets are mounted by subPath, so a change of them reaches no running pod. Another name "
    "changes the KbsConfig, and that rolls the pods. The Secrets of kbsSecretResources are part of addresses instead.",
    group=Group.CONFIDENTIAL,
    remedy="Name-<hash>, immutable; a plain name for what is in kbsSecretResources.",
    check=_content,
    prod=Level.WARNING,
    whole=True,
    complies=Example(
        f"{example(_REFERS.format('kbs-config-0f1e2d3c4b'))}---\n"
        + _map("kbs-config-0f1e2d3c4b", _CONFIG, _HTTP.format("false"))
    ),
    violates=Example(
        f"{example(_REFERS.format('kbs-config'))}---\n" + _map("kbs-config", _CONFIG, _HTTP.format("false"))
    ),
)

RULES = (INSECURE, OPEN, FILES, CONTENT)
