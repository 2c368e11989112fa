"""KbsConfig: where it has to be, what it must say, and how it is spelt."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.confidential.find import is_kbs_config, kbs_configs, operator_container, same_cluster
from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Rule, Subject
from policy.rules.speak import close, listed
from settings.trustee import RESERVED_VOLUMES
from settings.values import DNS_LABEL

FIELDS = (
    "kbsConfigMapName",
    "kbsAuthSecretName",
    "kbsDeploymentType",
    "kbsAsConfigMapName",
    "kbsRvpsConfigMapName",
    "kbsRvpsRefValuesConfigMapName",
    "kbsServiceType",
    "kbsHttpsKeySecretName",
    "kbsHttpsCertSecretName",
    "kbsSecretResources",
    "kbsAttestationPolicyConfigMapName",
    "kbsResourcePolicyConfigMapName",
    "tdxConfigSpec",
    "ibmSEConfigSpec",
    "KbsEnvVars",
    "kbsLocalCertCacheSpec",
    "KbsDeploymentSpec",
)
"""Of trustee-operator 0.5.0."""


def example(spec: str, namespace: str = "trustee-operator-system", name: str = "kbsconfig", pulumi: str = "") -> str:
    """A KbsConfig with these lines in its spec."""
    lines = "".join(f"  {line}\n" for line in spec.splitlines())
    options = f"pulumi: {pulumi}\n" if pulumi else ""
    return f"""\
apiVersion: confidentialcontainers.org/v1alpha1
kind: KbsConfig
metadata: {{name: {name}, namespace: {namespace}}}
spec:
{lines}{options}"""


_TYPE = "kbsDeploymentType: AllInOneDeployment\n"


def _one(subject: Subject, context: Context) -> Iterator[Finding]:
    if not is_kbs_config(subject) or not subject.is_placed():
        return
    others = [one for one in kbs_configs(context) if one.key != subject.key and same_cluster(one, subject)]
    if others and all(one.is_placed() for one in others):
        yield Finding(
            ("metadata", "name"),
            f"{listed(str(one) for one in others)} is there as well, and the operator makes one Deployment "
            "trustee-deployment and one Service for all of them.",
            "Keep one.",
        )
    for operator in context.of("Deployment"):
        if operator_container(operator, "trustee-operator") is None or not same_cluster(operator, subject):
            continue
        place = context.namespace_of(operator)
        if operator.is_placed() and place != context.namespace_of(subject):
            yield Finding(
                ("metadata", "namespace"),
                f"It is in namespace {context.namespace_of(subject)}, and its operator, in {place}, looks at "
                "KbsConfigs of its own namespace only.",
                f"Write namespace: {place}.",
            )


_OPERATOR = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: trustee-operator-controller-manager, namespace: trustee-operator-system}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: quay.io/confidential-containers/trustee-operator:v0.5.0
"""

ONE = Rule(
    id="one-kbs-config",
    title="There is one KbsConfig, in the namespace of trustee-operator",
    why="trustee-deployment and kbs-service are fixed names in the operator's own namespace; a KbsConfig elsewhere "
    "is never looked at, and a second one fights the first.",
    group=Group.CONFIDENTIAL,
    remedy="One KbsConfig beside the operator.",
    check=_one,
    whole=True,
    complies=Example(example(_TYPE) + _OPERATOR),
    violates=Example(example(_TYPE, "tenant-a") + _OPERATOR),
)


def _type(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if not is_kbs_config(subject):
        return
    view = subject.view.at("spec", "kbsDeploymentType")
    if subject.view.at("spec").known() and view.absent:
        yield Finding(
            ("spec",),
            "kbsDeploymentType is left to the operator, whose documentation and code disagree on the default.",
            "Write kbsDeploymentType: AllInOneDeployment, or MicroservicesDeployment.",
        )


TYPE = Rule(
    id="kbs-deployment-type",
    title="A KbsConfig says how the key broker is deployed",
    why="trustee-operator 0.5.0 documents AllInOneDeployment as the default and takes MicroservicesDeployment; later "
    "versions take the other one, so an update of the operator would change the deployment.",
    group=Group.CONFIDENTIAL,
    remedy="Write kbsDeploymentType.",
    check=_type,
    complies=Example(example(_TYPE)),
    violates=Example(example("kbsConfigMapName: kbs-config")),
)


def _spelling(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if not is_kbs_config(subject):
        return
    by_lower = {one.lower(): one for one in FIELDS}
    for key, view in subject.view.at("spec").entries():
        if key in FIELDS or view.value is None:
            continue
        meant = by_lower.get(key.lower()) or close(key, FIELDS)
        if meant is not None:
            yield Finding(
                view.path,
                f"trustee-operator 0.5.0 has no field {key}; the API server drops it without a word.",
                f"Write {meant}." if meant.lower() == key.lower() else f"Did you mean {meant}?",
            )


SPELLING = Rule(
    id="kbs-field-names",
    title="A KbsConfig's fields are spelt as its operator spells them",
    why="KbsEnvVars and KbsDeploymentSpec begin with a capital K and all others do not; what is not in the schema is "
    "pruned. Fields of later operators that resemble none of these are left alone.",
    group=Group.CONFIDENTIAL,
    remedy="KbsEnvVars, KbsDeploymentSpec.",
    check=_spelling,
    complies=Example(example(_TYPE + "KbsEnvVars: {RUST_LOG: info}")),
    violates=Example(example(_TYPE + "kbsEnvVars: {RUST_LOG: info}")),
)


def _secrets(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if not is_kbs_config(subject):
        return
    listed_ = subject.view.at("spec", "kbsSecretResources").items()
    cached = subject.view.at("spec", "kbsLocalCertCacheSpec", "secrets").items()
    seen: set[str] = set()
    for view in [*listed_, *(one.at("secretName") for one in cached)]:
        name = view.text()
        if name is None:
            continue
        if not DNS_LABEL.fullmatch(name):
            yield Finding(
                view.path,
                f"{name!r} cannot be the name of a volume, which the operator makes of it: the key broker's pod is "
                "refused.",
                "Use up to 63 lower-case letters, digits and dashes, no dots.",
            )
        elif name in RESERVED_VOLUMES:
            yield Finding(
                view.path,
                f"{name} is a volume that the operator makes itself, so the pod would have two of that name.",
                "Rename the Secret.",
            )
        elif name in seen:
            yield Finding(view.path, f"{name} is listed twice, and a pod has one volume of a name.", "Remove one.")
        seen.add(name)


SECRETS = Rule(
    id="kbs-secret-names",
    title="Secrets that a KbsConfig lists can be volumes of its pod",
    why="The operator names a volume after each Secret: a DNS label of at most 63 characters, no dots, and none of "
    f"the twelve that it makes itself ({', '.join(sorted(RESERVED_VOLUMES))}). One bad name "
    "stops the whole key broker.",
    group=Group.CONFIDENTIAL,
    remedy="Another name; it is part of kbs:///default/<Secret>/<key>.",
    check=_secrets,
    complies=Example(example(_TYPE + "kbsSecretResources: [model-key]")),
    violates=Example(example(_TYPE + "kbsSecretResources: [model.key, opa]")),
)

_TLS = ("kbsHttpsKeySecretName", "kbsHttpsCertSecretName")


def _tls(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if not is_kbs_config(subject) or not subject.view.at("spec").known():
        return
    views = [subject.view.at("spec", key) for key in _TLS]
    if not all(view.known() for view in views):
        return
    given = [bool(view.text()) for view in views]
    if given[0] != given[1]:
        there, missing = (_TLS[0], _TLS[1]) if given[0] else (_TLS[1], _TLS[0])
        yield Finding(
            ("spec", there),
            f"{there} is there and {missing} is not: TLS takes both, and with one of them the operator mounts neither.",
            f"Add {missing}, or remove {there}.",
        )


_BOTH = "kbsHttpsKeySecretName: kbs-tls-key\n"

TLS = Rule(
    id="kbs-tls-pair",
    title="A KbsConfig names the key and the certificate of TLS, or neither",
    why="The operator takes the two Secrets together.",
    group=Group.CONFIDENTIAL,
    remedy="Both fields.",
    check=_tls,
    complies=Example(example(_TYPE + _BOTH + "kbsHttpsCertSecretName: kbs-tls-certificate")),
    violates=Example(example(_TYPE + _BOTH)),
)


def _replaced(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    replicas = subject.view.at("spec", "KbsDeploymentSpec", "replicas")
    options = subject.options
    kept = options is not None and not options.delete_before_replace
    if is_kbs_config(subject) and kept and replicas.number() is not None:
        yield Finding(
            replicas.path,
            "The operator reads replicas only when it creates the Deployment: a change that is sent as an update has "
            "no effect.",
            'Add replace_on_changes=["spec.KbsDeploymentSpec.replicas"] and delete_before_replace=True.',
        )


_REPLICAS = _TYPE + "KbsDeploymentSpec: {replicas: 1}"

REPLACED = Rule(
    id="kbs-replicas-replaced",
    title="A KbsConfig with replicas is replaced when they change, the old one going first",
    why="trustee-operator 0.5.0 applies KbsDeploymentSpec.replicas on creation and never again. replace_on_changes "
    "cannot be seen by a policy, delete_before_replace can.",
    group=Group.CONFIDENTIAL,
    remedy="replace_on_changes with delete_before_replace.",
    check=_replaced,
    complies=Example(example(_REPLICAS, pulumi="{delete_before_replace: true}")),
    violates=Example(example(_REPLICAS, pulumi="{}")),
)

RULES = (ONE, TYPE, SPELLING, SECRETS, TLS, REPLACED)
