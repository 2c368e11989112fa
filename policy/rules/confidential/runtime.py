"""CcRuntime: what cc-operator 0.13 reads of it, what it does not, and what it makes that nobody else should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policy.rules.confidential.find import CC_RUNTIME, is_cc_runtime, same_cluster
from policy.rules.context import Context
from policy.rules.model import Example, Finding, Group, Level, Rule, Subject
from policy.rules.speak import listed
from policy.rules.view import UNKNOWN, View


def _example(spec: str, config: str = "", pulumi: str = "") -> str:
    indented = "".join(f"    {line}\n" for line in config.splitlines())
    options = f"pulumi: {pulumi}\n" if pulumi else ""
    return f"""\
apiVersion: confidentialcontainers.org/v1beta1
kind: CcRuntime
metadata: {{name: ccruntime-sample}}
spec:
  runtimeName: kata
{"".join(f"  {line}{chr(10)}" for line in spec.splitlines())}  config:
    installType: bundle
    payloadImage: registry.example/kata-deploy@sha256:{"3f8a1c0d" * 8}
{indented}{options}"""


def _one(subject: Subject, context: Context) -> Iterator[Finding]:
    if not is_cc_runtime(subject):
        return
    others = [
        one
        for one in context.of(CC_RUNTIME)
        if is_cc_runtime(one) and one.key != subject.key and same_cluster(one, subject)
    ]
    if not others or not all(one.is_placed() for one in (subject, *others)):
        return
    yield Finding(
        ("metadata", "name"),
        f"{listed(str(one) for one in others)} is there as well, and cc-operator's DaemonSets have fixed names: "
        "the two overwrite each other on every node.",
        "Keep one; it can install several runtime classes.",
    )


ONE = Rule(
    id="one-cc-runtime",
    title="A cluster has one CcRuntime",
    why="The install, uninstall and hook DaemonSets have fixed names, and two installers that edit one containerd "
    "configuration have left nodes NotReady (operator#481, kata-containers#10924).",
    group=Group.CONFIDENTIAL,
    remedy="One CcRuntime with all runtime classes.",
    check=_one,
    whole=True,
    complies=Example(_example("")),
    violates=Example(f"{_example('')}---\n{_example('').replace('ccruntime-sample', 'ccruntime-second')}"),
)


def _selector(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    view = subject.view.at("spec", "ccNodeSelector", "matchExpressions")
    if is_cc_runtime(subject) and view.items():
        yield Finding(
            view.path,
            "The operator reads matchLabels only: these expressions are dropped without a word, and every node that "
            "has the labels is changed.",
            "Label the nodes that are meant, and name that label under matchLabels.",
        )


SELECTOR = Rule(
    id="cc-node-selector",
    title="A CcRuntime selects its nodes by matchLabels",
    why="ccNodeSelector is a LabelSelector by its schema, of which cc-operator 0.13 uses matchLabels and ignores "
    "matchExpressions. With neither it takes node.kubernetes.io/worker with an empty value.",
    group=Group.CONFIDENTIAL,
    remedy="matchLabels with the label of the nodes.",
    check=_selector,
    complies=Example(_example('ccNodeSelector: {matchLabels: {node.kubernetes.io/worker: ""}}')),
    violates=Example(
        _example("ccNodeSelector:\n  matchExpressions:\n  - {key: node.kubernetes.io/worker, operator: Exists}")
    ),
)

DEAD: Mapping[tuple[str, ...], str] = {
    ("osNativeRepo",): "Remove it.",
    ("runtimeImage",): "Remove it; the payload brings the runtime.",
    ("guestKernelImage",): "Remove it; the payload brings the guest's kernel.",
    ("guestInitrdImage",): "Remove it; the payload brings the guest's rootfs.",
    ("preInstall", "cmd"): "Remove it; the path of the script is fixed.",
    ("postUninstall", "cmd"): "Remove it; the path of the script is fixed.",
}


def _dead(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for place, remedy in DEAD.items() if is_cc_runtime(subject) else ():
        view = subject.view.at("spec", "config", *place)
        if view.known() and view.value not in (None, "", []):
            yield Finding(view.path, f"cc-operator 0.13 never reads {'.'.join(place)}: it has no effect.", remedy)


DEAD_FIELDS = Rule(
    id="cc-dead-fields",
    title="A CcRuntime has no field that its operator ignores",
    why="The schema takes osNativeRepo, runtimeImage, guestKernelImage, guestInitrdImage and the cmd of both hooks; "
    "the controller reads none of them, so what is written there is believed and not done. installType is ignored too "
    "but required.",
    group=Group.CONFIDENTIAL,
    remedy="Remove the field.",
    check=_dead,
    complies=Example(_example("", "debug: false")),
    violates=Example(_example("", "guestKernelImage: registry.example/vmlinux:6.6")),
)


def _pull_secret(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    view = subject.view.at("spec", "config", "imagePullSecret")
    if is_cc_runtime(subject) and view.known() and view.value not in (None, {}, ""):
        yield Finding(
            view.path,
            "The operator ignores imagePullSecret, so the installers cannot pull from a registry that asks for it.",
            "Add the Secret to imagePullSecrets of the ServiceAccount cc-operator-controller-manager.",
        )


PULL_SECRET = Rule(
    id="cc-pull-secret",
    title="Pull secrets for a CcRuntime's images are on the ServiceAccount",
    why="Every installer runs under cc-operator-controller-manager, by that fixed name, and the field of the "
    "CcRuntime is read by nobody. For the key broker's pod it is the ServiceAccount `default` of its namespace.",
    group=Group.CONFIDENTIAL,
    remedy="imagePullSecrets of the ServiceAccount.",
    check=_pull_secret,
    complies=Example(_example("")),
    violates=Example(_example("", "imagePullSecret: {name: registry}")),
)

_DONE = {"installDoneLabel": "true", "uninstallDoneLabel": "cleanup"}


def _done(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    for key, wanted in _DONE.items() if is_cc_runtime(subject) else ():
        view = subject.view.at("spec", "config", key)
        if not isinstance(view.value, Mapping):
            view.known()  # noted, if it is unknown
            continue
        values = [value for _, value in view.entries()]
        if not all(value.known() for value in values):
            continue
        if [value.text() for value in values] != [wanted]:
            yield Finding(
                view.path,
                f"{key} has to be one label with the value {wanted!r}, which the operator waits for; with another it "
                "waits for ever.",
                f'Write {key}: {{katacontainers.io/kata-runtime: "{wanted}"}}.',
            )


_LABELS = 'installDoneLabel: {{katacontainers.io/kata-runtime: "{}"}}\n'
_LABELS += "uninstallDoneLabel: {{katacontainers.io/kata-runtime: cleanup}}"

DONE = Rule(
    id="cc-done-labels",
    title="A CcRuntime waits for the labels that its installer sets",
    why="The values true and cleanup, and that there is one label of each, are fixed in the operator.",
    group=Group.CONFIDENTIAL,
    remedy="One entry each: true for installDoneLabel, cleanup for uninstallDoneLabel.",
    check=_done,
    complies=Example(_example("", _LABELS.format("true"))),
    violates=Example(_example("", _LABELS.format("done"))),
)

_DEFAULT = {"node.kubernetes.io/worker": ""}


def _nodes(subject: Subject, context: Context) -> Iterator[Finding]:
    if not is_cc_runtime(subject):
        return
    selector = subject.view.at("spec", "ccNodeSelector")
    wanted = selector.at("matchLabels")
    if not selector.plain_known():
        return
    labels = wanted.strings() if not selector.absent else _DEFAULT
    seen = [one for one in context.of("Node") if one.api_version == "v1" and same_cluster(one, subject)]
    known = [one for one in seen if Subject(one.manifest).view.at("metadata", "labels").plain_known()]
    path = wanted.path if labels and not selector.absent and isinstance(wanted.value, Mapping) else ("spec",)
    for node in known:
        view = Subject(node.manifest).view.at("metadata", "labels")
        for key, value in labels.items():
            here = view.at(key)
            if not here.absent and here.value is not UNKNOWN and here.value != value:
                yield Finding(
                    path,
                    f"Node {node.name} has {key}={_shown(here)}, and the selector wants {key}={value!r}: the operator "
                    "passes the node by and says nothing.",
                    f"Give the label the value {value!r}, or the selector that of the label.",
                )
    matching = [node for node in known if _matches(node, labels)]
    if not matching and len(known) == len(seen):
        yield Finding(
            path,
            "No node among these objects has the labels that it selects by; with none, the operator logs an error "
            "every 15 s and shows nothing.",
            "Label the nodes, or see that they are labelled elsewhere.",
            Level.NOTE if not seen else Level.WARNING,
        )


def _shown(view: View) -> str:
    return repr(view.value) if isinstance(view.value, str) else "something else"


def _matches(node: Subject, labels: Mapping[str, str]) -> bool:
    there = Subject(node.manifest).view.at("metadata", "labels").strings()
    return all(there.get(key) == value for key, value in labels.items())


_NODE = """\
---
apiVersion: v1
kind: Node
metadata: {{name: node-1, labels: {{node.kubernetes.io/worker: "{}"}}}}
"""

NODES = Rule(
    id="cc-node-labels",
    title="The nodes' label has the value that the CcRuntime selects by",
    why="Upstream's default is an empty value; nodes labelled with true are passed by (operator#529). Where no node "
    "matches, there is no RuntimeClass, no event and nothing in the status.",
    group=Group.CONFIDENTIAL,
    remedy='kubectl label node … node.kubernetes.io/worker= (the value is ""), or the selector\'s own.',
    check=_nodes,
    whole=True,
    complies=Example(_example('ccNodeSelector: {matchLabels: {node.kubernetes.io/worker: ""}}') + _NODE.format("")),
    violates=Example(_example('ccNodeSelector: {matchLabels: {node.kubernetes.io/worker: ""}}') + _NODE.format("true")),
)


def _replaced(subject: Subject, context: Context) -> Iterator[Finding]:
    del context
    if is_cc_runtime(subject) and subject.options is not None and not subject.options.delete_before_replace:
        yield Finding(
            (),
            "The DaemonSets of a CcRuntime are made once: a changed spec that is sent as an update changes no host, "
            "and a second CcRuntime cannot be there beside the first.",
            'Add replace_on_changes=["spec"] and delete_before_replace=True to its options.',
        )


REPLACED = Rule(
    id="cc-runtime-replaced",
    title="A changed CcRuntime is replaced, the old one going first",
    why="cc-operator 0.13 creates its DaemonSets and never updates them: image, environment and selector of the old "
    "stay. replace_on_changes cannot be seen by a policy, delete_before_replace can.",
    group=Group.CONFIDENTIAL,
    remedy="replace_on_changes with delete_before_replace.",
    check=_replaced,
    complies=Example(_example("", pulumi="{delete_before_replace: true}")),
    violates=Example(_example("", pulumi="{}")),
)


def _owner(subject: Subject, context: Context) -> Iterator[Finding]:
    if subject.kind != "RuntimeClass" or subject.group != "node.k8s.io" or not subject.is_placed():
        return
    runtimes = [one for one in context.of(CC_RUNTIME) if is_cc_runtime(one) and same_cluster(one, subject)]
    for runtime in runtimes:
        if subject.name.startswith("kata-") or subject.name in _classes(runtime):
            yield Finding(
                ("metadata", "name"),
                f"The installer of {runtime} makes and removes this RuntimeClass on its own: declared here as well it "
                "has two owners.",
                "Remove it from the stack, and let what needs it wait for the CcRuntime.",
            )


def _classes(runtime: Subject) -> set[str]:
    listed = Subject(runtime.manifest).view.at("spec", "config", "runtimeClasses").items()
    return {name for one in listed if (name := one.at("name").text()) is not None}


_CLASS = """\
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {{name: {name}}}
handler: {name}
"""

OWNER = Rule(
    id="runtime-class-owner",
    title="RuntimeClasses that a CcRuntime installs are not declared",
    why="kata-deploy creates them from inside its payload with kubectl apply, and removes them with the CcRuntime; "
    "the operator only reads them.",
    group=Group.CONFIDENTIAL,
    remedy="Read them, do not declare them.",
    check=_owner,
    whole=True,
    complies=Example(_example("") + _CLASS.format(name="gvisor")),
    violates=Example(_example("") + _CLASS.format(name="kata-qemu-virtcca")),
)

RULES = (ONE, SELECTOR, DEAD_FIELDS, PULL_SECRET, DONE, NODES, REPLACED, OWNER)
