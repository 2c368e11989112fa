"""What each change means is said, in a sentence for its kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy.preview.previews import digest, events, named, step
from tests.policy.preview.reports import POD, ROLLED, T, report

RIM = {"ringfence.dev/rim-inputs": "a"}
PLUGIN: dict[str, Any] = {"metadata": {"labels": {"app.kubernetes.io/component": "kubeletplugin"}}}
DRIVER: dict[str, Any] = named("d", "n", **PLUGIN)
SELECTED: dict[str, Any] = {"spec": {"config": {"payloadImage": "p:1"}}}


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (
            step("replace", T, named("t", "n", spec={"spec": {}}), named("t", "n", spec={"spec": {"a": 1}})),
            "keep it and their NPUs; a pod created in the moment",
        ),
        (step("replace", T, named("t", "n"), named("u", "n")), "Its name moves from n/t to n/u"),
        (step("delete", T, named("t", "n")), "a new pod that names this template stays Pending"),
        (
            step(
                "update",
                "DeviceClass",
                named("c", spec={"selectors": []}),
                named("c", spec={"selectors": [{"cel": {"expression": "true"}}]}),
            ),
            "allocations made from now on",
        ),
        (
            step("update", "DeviceClass", named("c", spec={}), named("c", spec={"extendedResourceName": "a/b"})),
            "from none to a/b",
        ),
        (step("delete", "DeviceClass", named("c")), "are not scheduled while it is gone"),
        (
            step(
                "update",
                "DaemonSet",
                {**DRIVER, "spec": POD},
                {**DRIVER, "spec": ROLLED | {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}},
            ),
            "at most 1 at once",
        ),
        (
            step("update", "DaemonSet", {**DRIVER, "spec": POD}, {**DRIVER, "spec": ROLLED}),
            "no claim is prepared there",
        ),
        (
            step(
                "update",
                "DaemonSet",
                named("d", spec=POD),
                named("d", spec=ROLLED | {"updateStrategy": {"type": "OnDelete"}}),
            ),
            "Nothing rolls by itself",
        ),
        (step("update", "DaemonSet", named("d", spec=POD), named("d", spec=ROLLED)), "`r/i:1` → `r/i:2`"),
        (step("delete", "DaemonSet", DRIVER), "Without the driver no node prepares a claim"),
        (step("replace", "DaemonSet", named("d"), named("d", spec=POD)), "on every node at once"),
        (
            step(
                "replace", "CcRuntime", named("r"), named("r", **SELECTED), outputs={"status": {"totalNodesCount": 3}}
            ),
            "taken off 3 hosts and installed anew: containerd restarts",
        ),
        (step("replace", "CcRuntime", named("r"), named("r", **SELECTED)), "taken off each host that it counts"),
        (step("update", "CcRuntime", named("r"), named("r", **SELECTED)), "It has to be replaced to take effect"),
        (step("delete", "CcRuntime", named("r")), "keep the operator until it is gone"),
        (step("create", "CcRuntime", None, named("r")), "containerd restarts there"),
        (
            step(
                "update",
                "KbsConfig",
                named("k", spec={"kbsConfigMapName": "a"}),
                named("k", spec={"kbsConfigMapName": "b"}),
            ),
            "The KBS pods roll",
        ),
        (step("delete", "KbsConfig", named("k")), "no guest attests or gets a key"),
        (
            step("update", "Secret", named("x", stringData={"a": "1"}), named("x", stringData={"a": "2"})),
            "a secret: that it changes, and no more",
        ),
        (
            step("update", "ConfigMap", named("x", data={"a": "1"}), named("x", data={"a": "2"})),
            "do not see it until they restart",
        ),
        (
            step("delete", "NodePatch", named("node-1", metadata={"labels": {"a/b": ""}})),
            "Node node-1 loses the label a/b",
        ),
        (
            step(
                "update",
                "Node",
                named("node-1", metadata={"labels": {"a/b": "c"}}),
                named("node-1", metadata={"labels": {"a/b": "d"}}),
            ),
            "Node node-1 loses the label a/b",
        ),
        (
            step("create", "NodePatch", None, named("node-1", metadata={"labels": {"a/b": ""}})),
            "Node node-1 gets the label a/b",
        ),
        (step("delete", "Namespace", named("team")), "deletes everything in namespace team"),
        (
            step(
                "delete",
                "CustomResourceDefinition",
                {
                    "metadata": {"name": "widgets.example.test"},
                    "spec": {"group": "example.test", "names": {"kind": "Widget"}},
                },
            ),
            "deletes every Widget in the cluster",
        ),
        (
            step("replace", "Provider", {"clusterIdentifier": "a"}, {"clusterIdentifier": "b"}),
            "every object behind it is replaced",
        ),
        (step("update", "Provider", {"kubeconfig": "a"}, {"kubeconfig": "b"}), "pulumi takes it for the same cluster"),
        (step("delete", "RuntimeClass", named("kata")), "New pods that name this runtime class are refused"),
        (step("delete", "ValidatingAdmissionPolicyBinding", named("b")), "What it refuses is let through"),
        (
            step("update", "ClusterRole", named("r", rules=[]), named("r", rules=[{"verbs": ["get"]}])),
            "What its subjects may do changes at once",
        ),
        (
            step(
                "update",
                "ResourceQuota",
                named("q", spec={"hard": {"pods": "1"}}),
                named("q", spec={"hard": {"pods": "2"}}),
            ),
            "none that runs is stopped",
        ),
        (
            step(
                "update",
                "Deployment",
                named("w", metadata={"annotations": RIM}),
                named("w", metadata={"annotations": {"ringfence.dev/rim-inputs": "b"}}),
            ),
            "compute the reference values anew",
        ),
        (
            step(
                "update",
                "Deployment",
                named("w", spec={"template": {"metadata": {"annotations": RIM}}}),
                named("w", spec={"template": {"metadata": {}}}),
            ),
            "compute the reference values anew",
        ),
        (step("delete", "Namespace", named("n"), protect=True), "pulumi refuses this"),
        (step("delete", "Namespace", named("n"), retainOnDelete=True), "It stays in the cluster"),
    ],
)
def test_each_kind_of_change_has_its_sentence(one: dict[str, Any], says: str) -> None:
    for form in (digest, events):
        assert says in report(form(one)).replace("\\", "")


def test_what_goes_with_a_namespace_and_a_definition_is_listed() -> None:
    crd = {"metadata": {"name": "w"}, "spec": {"group": "example.test", "names": {"kind": "Widget"}}}
    text = report(
        digest(
            step("delete", "Namespace", named("team"), name="a"),
            step("delete", T, named("t", "team"), name="b"),
            step("delete", "CustomResourceDefinition", crd, name="c"),
            step("delete", "Widget", named("w1"), name="d"),
        )
    )
    assert "Of this stack: ResourceClaimTemplate team/t." in text
    assert "Of this stack: Widget w1." in text


def test_an_unchanged_stack_says_so_in_one_line() -> None:
    assert "## s: nothing changes\n" in report(digest())


def test_a_kind_without_an_entry_gets_no_sentence() -> None:
    assert "**Widget `w`**\n" in report(digest(step("delete", "Widget", named("w"))))
