"""CEL selectors: that they compile, that they fail on no device, that they let in some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policy.rules.context import Context
from policy.rules.find import CLASS, Asked, asked, claim_spec, is_v1, selectors
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.reach import evaluate, expressions, reach
from policy.rules.speak import listed, shortened
from policy.rules.view import View
from topology.allocator.diagnosis import drivers_named, fails, impossible_domain, lets_in, refusal
from topology.allocator.errors import Unmodelled

_FOREIGN = "another-driver.invalid"


def _compiles(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for selector in selectors(subject):
        text = selector.text()
        if text is None:
            continue
        try:
            why = refusal(text)
        except Unmodelled:
            yield Finding(
                selector.path,
                "Whether this CEL expression compiles is not known here: it uses functions of Kubernetes that are not "
                "replicated.",
                "Try it with `kubectl apply --dry-run=server`.",
                Level.NOTE,
            )
            continue
        if why is not None:
            yield Finding(
                selector.path,
                f"The CEL expression does not compile: {why}.",
                'Write it over device.driver, device.attributes["domain"].name and device.capacity["domain"].name.',
            )


_SELECTOR = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: big}}
spec:
  devices:
    requests:
    - name: npu
      exactly:
        deviceClassName: {}
        selectors:
        - cel:
            expression: {}
"""

COMPILES = Rule(
    id="cel-compiles",
    title="CEL expressions compile and give true or false",
    why="The API server refuses an expression that does not compile. Attributes are untyped, so most mistakes with "
    "them appear only when the scheduler evaluates them.",
    group=Group.CLAIMS,
    remedy="Correct the expression.",
    check=_compiles,
    complies=Example(
        _SELECTOR.format(
            "npu.huawei.com", 'device.capacity["npu.huawei.com"].memCapacity.compareTo(quantity("32Gi")) >= 0'
        )
    ),
    violates=Example(_SELECTOR.format("npu.huawei.com", 'device.capacity["npu.huawei.com"].memCapacity >= 32')),
)


def _form(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for selector in selectors(subject):
        try:
            domain = impossible_domain(selector.text() or "")
        except Unmodelled:
            continue
        if domain is not None:
            first, _, name = domain.partition("/")
            yield Finding(
                selector.path,
                f'device.attributes["{domain}"] is always empty: the index is a domain, and the name stands after it. '
                "Reading "
                "anything there is an error on every device, and the pod fails on every node.",
                f'Write device.attributes["{first}"].{name}, which is the value itself.',
            )


FORM = Rule(
    id="cel-attribute-form",
    title="An attribute is read by its domain, then by its name",
    why="Slices and constraints write domain/name in one; CEL has a map of domains, each a map of names, whose "
    "values are the attribute's value and have no .bool, .string or .int.",
    group=Group.CLAIMS,
    remedy='device.attributes["domain"].name',
    check=_form,
    complies=Example(
        _SELECTOR.format("npu.huawei.com", 'device.attributes["npu.huawei.com"].?chipName.orValue("") == "910B4"')
    ),
    violates=Example(
        _SELECTOR.format("npu.huawei.com", 'device.attributes["npu.huawei.com/chipName"].string == "910B4"')
    ),
)


def _sources(
    subject: Subject, context: Context
) -> Iterator[tuple[tuple[str, ...] | None, tuple[str, ...], list[View]]]:
    """(the class's expressions, None where they are not known; the own ones; where these are) of a class or request."""
    if is_v1(subject, CLASS):
        views = list(selectors(subject))
        own = [view.text() for view in views]
        if None not in own:
            yield (), tuple(text for text in own if text is not None), views
    devices = claim_spec(subject)
    for one in asked(devices) if devices is not None else ():
        found = expressions(one)
        if found:
            views = [selector.at("cel", "expression") for selector in one.at.at("selectors").items()]
            yield context.classes.get(one.at.at("deviceClassName").text() or ""), found, views


def _guard(subject: Subject, context: Context) -> Iterator[Finding]:
    for of_class, own, views in _sources(subject, context):
        try:
            if of_class and not lets_in(of_class, _FOREIGN):
                continue
            failing = fails(own, _FOREIGN)
        except Unmodelled:
            continue
        if failing is None:
            continue
        named = drivers_named(own)
        guard = f'device.driver == "{named[0]}" && …' if named else 'device.driver == "…" && …'
        if of_class is None:
            yield Finding(
                views[own.index(failing)].path,
                "The expression reads attributes of devices of any driver; whether the DeviceClass keeps other "
                "drivers' "
                "devices away is not known, since it is not among these objects.",
                f"Begin with {guard}, or check the class.",
                Level.NOTE,
            )
            continue
        yield Finding(
            views[own.index(failing)].path,
            "The expression fails on a device of another driver, which has no such attribute, and one such device "
            "fails the "
            "pod on every node.",
            f"Begin with {guard}.",
        )


_CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: 910b4.npu.huawei.com}}
spec:
  selectors:
  - cel:
      expression: {}
"""

GUARD = Rule(
    id="cel-driver-guard",
    title="An expression asks for the driver before it reads attributes, unless the class has done so",
    why="The scheduler evaluates a class's and a request's expressions on the devices of all drivers. Reading an "
    "attribute that a device lacks is an error, and an error ends the scheduling of the pod on all nodes "
    "(kubernetes#125488).",
    group=Group.CLAIMS,
    remedy='Begin with device.driver == "…" &&.',
    check=_guard,
    whole=True,
    complies=Example(
        _CLASS.format(
            "device.driver == 'npu.huawei.com' && 'chipName' in device.attributes['npu.huawei.com'] && "
            "device.attributes['npu.huawei.com'].chipName == '910B4'"
        )
    ),
    violates=Example(_CLASS.format("device.attributes['npu.huawei.com'].chipName == '910B4'")),
)


def _existence(subject: Subject, context: Context) -> Iterator[Finding]:
    for of_class, own, views in _sources(subject, context):
        try:
            failures = evaluate(of_class or (), own, context).failures if context.fleet else ()
        except Unmodelled:
            continue
        named = drivers_named((*(of_class or ()), *own))
        sure: set[str] = set()
        for failure in failures:
            slice, device = failure.spot
            # One that fails on any driver's devices is told by cel-driver-guard.
            if failure.expression in own and (slice.driver in named or not _fails_anywhere(failure.expression)):
                sure.add(failure.expression)
                lacking = "NOT_FOUND" in failure.why
                because = (
                    f"lacks what it reads ({_missing(failure.why)})"
                    if lacking
                    else "has it of another type"
                    if "overload" in failure.why
                    else f"is one that it cannot be evaluated on ({shortened(failure.why)})"
                )
                yield Finding(
                    views[own.index(failure.expression)].path,
                    f"The expression fails on device {device.name} of {slice.pool}, which {because}, and that fails "
                    "the pod on every node.",
                    'Ask first whether it is there: "name" in device.attributes["domain"] && …, or read it as '
                    'device.attributes["domain"].?name.orValue(…).'
                    if lacking
                    else f"Compare it as what the device has: {_published(device.attributes)}.",
                )
        unseen = [driver for driver in named if driver not in context.fleet.drivers]
        yield from _unseen(of_class, own, views, unseen)


def _fails_anywhere(expression: str) -> bool:
    try:
        return fails((expression,), _FOREIGN) is not None
    except Unmodelled:
        return False


def _unseen(
    of_class: tuple[str, ...] | None, own: tuple[str, ...], views: list[View], drivers: list[str]
) -> Iterator[Finding]:
    """Drivers of which no device is known: whether each of theirs has the attribute cannot be told."""
    for driver in drivers:
        try:
            failing = fails(own, driver) if not of_class or lets_in(of_class, driver) else None
        except Unmodelled:
            return
        if failing is not None:
            yield Finding(
                views[own.index(failing)].path,
                f"The expression fails on a device of {driver} that lacks what it reads; whether all of them have it "
                "is not "
                "known from here.",
                'Where it may be missing, ask first: "name" in device.attributes["domain"] && ….',
                Level.NOTE,
            )
            return


def _missing(why: str) -> str:
    key = why.rpartition(": ")[2].strip('"')
    return key if key and key != why else "an attribute"


EXISTENCE = Rule(
    id="cel-existence",
    title="An expression asks whether an attribute is there before it reads it, where a device may lack it",
    why="An attribute that a driver omits (an NPU without a NUMA node, a virtual function, a failed discovery) is an "
    "error when read, not false; one device without it ends the scheduling of the pod on all nodes "
    "(kubernetes#135184).",
    group=Group.CLAIMS,
    remedy='"name" in device.attributes["domain"] && …, or an optional: .?name.orValue(…).',
    check=_existence,
    whole=True,
    complies=Example(
        _SELECTOR.format("npu.huawei.com", 'device.attributes["npu.huawei.com"].?topoSioID.orValue(-1) == 0'),
        servers=("box16",),
    ),
    violates=Example(
        _SELECTOR.format("npu.huawei.com", 'device.attributes["npu.huawei.com"].topoSioID == 0'), servers=("box16",)
    ),
)


def nothing_matches(one: Asked, context: Context) -> bool:
    """Whether the class has devices in the fleet and the selectors let in none of them."""
    found = reach(one, context)
    return found is not None and not found.unmodelled and bool(found.of_class) and not found.devices


def is_dead(one: Asked, devices: View, context: Context) -> bool:
    """Whether nothing matches the request, nor any other of its alternatives: one of those is enough."""
    return all(nothing_matches(other, context) for other in asked(devices) if other.request == one.request)


def _matches(subject: Subject, context: Context) -> Iterator[Finding]:
    devices = claim_spec(subject)
    for one in asked(devices) if devices is not None else ():
        found = reach(one, context)
        if found is None:
            continue
        if found.unmodelled:
            yield Finding(
                one.at.path,
                f"Which devices match is not known from here: it rests on {shortened(found.unmodelled)}.",
                "Ask a cluster.",
                Level.NOTE,
            )
        elif not found.of_class and not found.failures:
            yield Finding(
                one.at.at("deviceClassName").path,
                f"DeviceClass {one.at.at('deviceClassName').text()} lets in none of the devices that are known here; "
                "whether it can be satisfied is not known.",
                "Add the ResourceSlices of its driver.",
                Level.NOTE,
            )
        elif devices is not None and nothing_matches(one, context) and not found.failures:
            dead = is_dead(one, devices, context)
            yield Finding(
                one.at.at("selectors").path,
                f"Request {one.name} matches no device: DeviceClass {one.at.at('deviceClassName').text()} has "
                f"{len(found.of_class)} on {listed(sorted({slice.pool for slice, _ in found.of_class}))}, and the "
                "selectors "
                f"let in none of them{'' if dead else '; another alternative is always taken in its place'}.",
                f"Compare it with what the driver publishes: {_published(found.of_class[0][1].attributes)}.",
                None if dead else Level.WARNING,
            )


def _published(attributes: Mapping[str, tuple[str, object]]) -> str:
    return listed((f"{name} = {value!r}" for name, (_, value) in sorted(attributes.items())), 6)


MATCHES = Rule(
    id="matches-a-device",
    title="A request matches a device of a declared server",
    why="A selector that lets in nothing is no error: the pod stays Pending with «cannot allocate all claims».",
    group=Group.CLAIMS,
    remedy="Compare the selector with what `ringfence topo show` or the ResourceSlices say.",
    check=_matches,
    whole=True,
    complies=Example(
        _SELECTOR.format("npu.huawei.com", 'device.attributes["npu.huawei.com"].?chipName.orValue("") == "910B4"'),
        servers=("box16",),
    ),
    violates=Example(
        _SELECTOR.format("npu.huawei.com", 'device.attributes["npu.huawei.com"].?chipName.orValue("") == "910b4"'),
        servers=("box16",),
    ),
)

RULES = (COMPILES, FORM, GUARD, EXISTENCE, MATCHES)
