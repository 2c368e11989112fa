"""Where objects keep what concerns confidential containers."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import containers, pod_specs
from policy.rules.model import Subject
from policy.rules.view import View

GROUP = "confidentialcontainers.org"
CC_RUNTIME, KBS_CONFIG = "CcRuntime", "KbsConfig"
KERNEL_PARAMS = "io.katacontainers.config.hypervisor.kernel_params"
IMAGE_VARIABLES = ("KBS_IMAGE_NAME", "KBS_IMAGE_NAME_MICROSERVICES", "AS_IMAGE_NAME", "RVPS_IMAGE_NAME")

CONFIG_MAPS = (
    "kbsConfigMapName",
    "kbsRvpsRefValuesConfigMapName",
    "kbsResourcePolicyConfigMapName",
    "kbsAttestationPolicyConfigMapName",
    "kbsAsConfigMapName",
    "kbsRvpsConfigMapName",
)
"""Fields of a KbsConfig that name ConfigMaps."""

SECRETS = ("kbsAuthSecretName", "kbsHttpsKeySecretName", "kbsHttpsCertSecretName")
"""Fields of a KbsConfig that name Secrets which no guest asks for."""


def is_cc_runtime(subject: Subject) -> bool:
    return subject.kind == CC_RUNTIME and subject.group == GROUP


def is_kbs_config(subject: Subject) -> bool:
    return subject.kind == KBS_CONFIG and subject.group == GROUP


def kbs_configs(context: Context) -> Iterator[Subject]:
    return (one for one in context.of(KBS_CONFIG) if is_kbs_config(one))


def same_cluster(one: Subject, other: Subject) -> bool:
    """Whether they go to the same cluster, as far as can be told: a stack of two has a provider for each."""
    if one.options is None or other.options is None:
        return True
    return one.options.provider == other.options.provider


def operator_container(subject: Subject, operator: str) -> View | None:
    """The container of an operator's Deployment, told by its image's name or its own; None for all others."""
    if subject.kind != "Deployment" or subject.group != "apps":
        return None
    for spec in pod_specs(subject):
        for container in containers(spec):
            repository = (container.at("image").text() or "").partition("@")[0].rpartition("/")
            name = repository[2].partition(":")[0]
            owner = repository[0].rpartition("/")[2]
            full = f"{owner}/{name}"
            if operator == "cc-operator" and (full == "confidential-containers/operator" or name == "cc-operator"):
                return container
            if operator == "cc-operator" and subject.name == "cc-operator-controller-manager":
                return container
            if operator == "trustee-operator" and (name == operator or set(env(container)) & set(IMAGE_VARIABLES)):
                return container
    return None


def env(container: View) -> dict[str, View]:
    """Environment variable → its value, of those that are written out."""
    found: dict[str, View] = {}
    for variable in container.at("env").items():
        name = variable.at("name").text()
        if name is not None:
            found[name] = variable.at("value")
    return found


def named(context: Context, kbs: Subject, kind: str, name: str | None) -> Subject | None:
    """The ConfigMap or Secret of this name beside a KbsConfig, if it is among the objects."""
    for one in context.of(kind):
        beside = context.namespace_of(one) == context.namespace_of(kbs) and same_cluster(one, kbs)
        if name and one.name == name and one.api_version == "v1" and beside:
            return one
    return None


def pods(subject: Subject) -> Iterator[tuple[View, View]]:
    """(spec, metadata) of the pods in an object."""
    for spec in pod_specs(subject):
        yield spec, subject.view.at(*spec.path[:-1], "metadata")


def kernel_params(metadata: View) -> Iterator[tuple[View, str, str]]:
    """(the annotation, name, value) of each parameter that a pod adds to its guest's kernel command line."""
    view = metadata.at("annotations", KERNEL_PARAMS)
    for word in (view.text() or "").split():
        name, _, value = word.partition("=")
        yield view, name, value
