"""Fields that a cluster of this version, with these gates, drops without a word."""

from __future__ import annotations

from collections.abc import Iterator

from policy.rules.context import Context
from policy.rules.find import CLASS, SLICE, asked, claim_spec, is_v1
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.view import View
from settings.capabilities import VERSIONS, Capabilities

_REQUEST = {
    "tolerations": "DRADeviceTaints",
    "capacity": "DRAConsumableCapacity",
    "derivedAttributes": "DRADerivedAttributes",
    "adminAccess": "DRAAdminAccess",
}
_DEVICE = {
    "taints": "DRADeviceTaints",
    "consumesCounters": "DRAPartitionableDevices",
    "allowMultipleAllocations": "DRAConsumableCapacity",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindsToNode": "DRADeviceBindingConditions",
}
_EFFECT = {
    "distinctAttribute": "the constraint is then empty, and refused",
    "firstAvailable": "the request is then empty, and refused",
    "adminAccess": "the claim then takes the devices for itself",
    "tolerations": "tainted devices are then never given",
    "extendedResourceName": "pods that ask for the resource then stay Pending",
}


def _dropped(subject: Subject, context: Context) -> Iterator[Finding]:
    for view, gate in _gated(subject):
        cluster = context.cluster
        since = Capabilities(VERSIONS[-1], {}).since(gate)  # type: ignore[arg-type]
        name = view.path[-1]
        effect = _EFFECT.get(str(name))
        because = f"; {effect}" if effect else ""
        if cluster is None:
            if since not in (None, VERSIONS[0]):
                yield Finding(
                    view.path,
                    f"{name} is kept only from Kubernetes {since} on, or with the gate {gate}{because}.",
                    "Say which version it is for.",
                    Level.NOTE,
                )
            elif since is None:
                yield Finding(
                    view.path,
                    f"{name} is dropped without a word unless the cluster turns on {gate}, which is alpha in every "
                    "version up to "
                    f"{VERSIONS[-1]}{because}.",
                    f"Turn on {gate}, or leave it out.",
                    Level.WARNING,
                )
        elif not cluster.on(gate):
            when = f"It is on by default from {since} on." if since else "It is alpha in every version."
            yield Finding(
                view.path,
                f"Kubernetes {cluster.version} drops {name} without a word, since {gate} is off there{because}.",
                f"{when} Turn the gate on, or leave the field out.",
            )


def _gated(subject: Subject) -> Iterator[tuple[View, str]]:
    """Each field in use that a gate carries, with its gate."""
    if is_v1(subject, CLASS):
        yield from _there(subject.view.at("spec"), {"extendedResourceName": "DRAExtendedResource"})
    if is_v1(subject, SLICE):
        spec = subject.view.at("spec")
        yield from _there(spec, {"sharedCounters": "DRAPartitionableDevices"})
        for device in spec.at("devices").items():
            yield from _there(device, _DEVICE)
    devices = claim_spec(subject)
    if devices is None:
        return
    for request in devices.at("requests").items():
        yield from _there(request, {"firstAvailable": "DRAPrioritizedList"})
    for one in asked(devices):
        yield from _there(one.at, _REQUEST)
    for constraint in devices.at("constraints").items():
        yield from _there(constraint, {"distinctAttribute": "DRAConsumableCapacity"})


def _there(view: View, gates: dict[str, str]) -> Iterator[tuple[View, str]]:
    for field, gate in gates.items():
        found = view.at(field)
        if not found.absent and found.value not in ([], {}, False):
            yield found, gate


_TWO = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: apart}
spec:
  devices:
    requests:
    - name: npu
      exactly: {deviceClassName: npu.huawei.com, count: 2}
    constraints:
    - distinctAttribute: npu.huawei.com/numaNode
"""

DROPPED = Rule(
    id="dropped-field",
    title="Every field is one that the cluster keeps",
    why="With a feature gate off the API server removes the gate's fields from what it is sent, without an error or "
    "a warning.",
    group=Group.CLAIMS,
    remedy="Leave the field out, turn its gate on, or update the cluster.",
    check=_dropped,
    complies=Example(_TWO, kubernetes="1.36"),
    violates=Example(_TWO, kubernetes="1.35"),
)

RULES = (DROPPED,)
