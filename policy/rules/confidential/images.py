"""Images that stand in no pod: what a CcRuntime installs, and what trustee-operator runs as the key broker.

The operators' own images are those of Deployments and are judged as all images are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.rules.confidential.find import IMAGE_VARIABLES, env, is_cc_runtime, operator_container
from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject

_PLACES = (("payloadImage",), ("preInstall", "image"), ("postUninstall", "image"))


def _payload(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if not is_cc_runtime(subject):
        return
    for place in _PLACES:
        view = subject.view.at("spec", "config", *place)
        image = view.text()
        if image is not None and "@sha256:" not in image:
            yield Finding(
                view.path,
                f"{image} is installed as root into every host's containerd, and its tag can be moved to another "
                "build.",
                "Name the image by digest (@sha256:…).",
            )


_DIGEST = "@sha256:" + "3f8a1c0de1b7d94c5b6a20f7e98d4c31a5b2e6f7089c1d2e3f4a5b6c7d8e9f01"
_RUNTIME = """\
apiVersion: confidentialcontainers.org/v1beta1
kind: CcRuntime
metadata: {{name: ccruntime-sample}}
spec:
  runtimeName: kata
  config:
    installType: bundle
    payloadImage: registry.example/kata-deploy{}
"""

PAYLOAD = Rule(
    id="cc-payload-digest",
    title="A CcRuntime names what it installs by digest",
    why="The payload and the hooks run as root on every node and rewrite its containerd. DaemonSets are made once, "
    "so with a tag two nodes can carry two builds and nothing shows it; they also decide what is measured.",
    group=Group.CONFIDENTIAL,
    remedy="registry/repository@sha256:… for payloadImage, preInstall.image and postUninstall.image.",
    check=_payload,
    complies=Example(_RUNTIME.format(_DIGEST)),
    violates=Example(_RUNTIME.format(":3.15.0")),
)


def _broker(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    container = operator_container(subject, "trustee-operator")
    if container is None or not container.at("env").plain_known():
        return
    given = env(container)
    for name in IMAGE_VARIABLES:
        view = given.get(name)
        if view is None:
            floating = name in {"AS_IMAGE_NAME", "RVPS_IMAGE_NAME"}
            default = "whatever was pushed last as latest" if floating else "the one of its release"
            yield Finding(
                container.path,
                f"{name} is not set, so the operator takes {default}: no image of the key broker's that anyone here "
                "has chosen.",
                f"Add {name} with an image by digest.",
                None if floating else Level.WARNING,
            )
        elif (image := view.text()) is not None and "@sha256:" not in image:
            yield Finding(
                view.path,
                f"{name} is {image}: the tag can be moved to another build, and the key broker gives out keys.",
                "Name the image by digest (@sha256:…).",
            )


def _operator(images: dict[str, str]) -> str:
    lines = "".join(f"        - {{name: {name}, value: registry.example/{image}}}\n" for name, image in images.items())
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: trustee-operator-controller-manager, namespace: trustee-operator-system}}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: quay.io/confidential-containers/trustee-operator{_DIGEST}
        env:
{lines}"""


_IMAGES = {name: f"{name.partition('_')[0].lower()}{_DIGEST}" for name in IMAGE_VARIABLES}

BROKER = Rule(
    id="trustee-images",
    title="trustee-operator is told every image of the key broker, by digest",
    why="Which KBS, AS and RVPS run is environment of the operator and nothing else. Version 0.5.0 takes an "
    "unpinned latest for AS and RVPS; the custom resource has no field for them.",
    group=Group.CONFIDENTIAL,
    remedy=f"Set {', '.join(IMAGE_VARIABLES)}.",
    check=_broker,
    complies=Example(_operator(_IMAGES)),
    violates=Example(_operator({name: image for name, image in _IMAGES.items() if name != "RVPS_IMAGE_NAME"})),
)

LAST = (0, 17)
_VERSION = re.compile(r":v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+@]|$)")


def _archived(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    container = operator_container(subject, "cc-operator")
    if container is None:
        return
    view = container.at("image")
    found = _VERSION.search(view.text() or "")
    if found is not None and (int(found[1]), int(found[2])) > LAST:
        yield Finding(
            view.path,
            f"There is no cc-operator {found[1]}.{found[2]}: v0.17 was the last before the project was archived.",
            "Use a release up to v0.17; ringfence is written for v0.13.0.",
        )
    else:
        yield Finding(
            view.path,
            "Upstream archived cc-operator in February 2026: nobody there mends it any more.",
            "Nothing has to be done now; upstream goes on with a Helm chart, in which classes such as virtCCA's are "
            "customRuntimes.",
            Level.NOTE,
        )


_CC = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: cc-operator-controller-manager, namespace: confidential-containers-system}}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: quay.io/confidential-containers/operator:{}{}
"""

ARCHIVED = Rule(
    id="cc-operator-archived",
    title="cc-operator is a release that exists, and known to be archived",
    why="The repository was marked deprecated on 2026-01-10 and archived on 2026-02-01; v0.17 is its last release. "
    "Its successor is a Helm chart, for which the operator and its CcRuntime have to be removed first.",
    group=Group.CONFIDENTIAL,
    remedy="A release up to v0.17.",
    check=_archived,
    prod=Level.WARNING,
    complies=Example(_CC.format("v0.13.0", _DIGEST)),
    violates=Example(_CC.format("v0.19.0", _DIGEST)),
)

RULES = (PAYLOAD, BROKER, ARCHIVED)
