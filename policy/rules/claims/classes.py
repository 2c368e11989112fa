"""The DeviceClasses that requests name."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import CLASS, asked, claim_spec, is_v1
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.speak import close, listed


def _exists(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    for one in asked(devices) if devices is not None else ():
        view = one.at.at("deviceClassName")
        name = view.text()
        if not name or name in context.classes:
            continue
        # Those of another driver may well come from elsewhere, and so may the one that a class here is a variant of: a
        # driver brings its own. A variant is missing where what it is a variant of is here.
        own = sorted(other.name for other in context.of(CLASS) if is_v1(other, CLASS) and other.name)
        known = sorted(context.classes)
        meant = close(name, known)
        family = [other for other in own if name.endswith(f".{other}")]
        if meant is not None or family:
            yield Finding(
                view.path,
                f"There is no DeviceClass {name}, though there are {listed(known)}. Pods stay Pending with «device "
                "class "
                f"{name} does not exist».",
                f"Did you mean {meant}?" if meant else "Add the class, or name one of these.",
            )
        else:
            yield Finding(
                view.path,
                f"DeviceClass {name} is not among these objects; whether the cluster has it is not known from here.",
                f"`kubectl get deviceclass {name}`",
                Level.NOTE,
            )


_TEXT = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: npu}}
spec:
  devices:
    requests:
    - name: npu
      exactly: {{deviceClassName: {}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: npu.huawei.com}}
spec:
  selectors:
  - cel: {{expression: device.driver == "npu.huawei.com"}}
"""

EXISTS = Rule(
    id="class-exists",
    title="A request names a DeviceClass that is there",
    why="A class is found by name when the pod is scheduled. Removing or renaming one that templates use is not "
    "stopped by the API server: new pods stay Pending, running ones keep their devices.",
    group=Group.CLAIMS,
    remedy="Keep the class, or change the templates first.",
    check=_exists,
    whole=True,
    complies=Example(_TEXT.format("npu.huawei.com")),
    violates=Example(_TEXT.format("910b4.npu.huawei.com")),
)

RULES = (EXISTS,)
