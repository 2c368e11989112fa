"""No secret is ever in a report, wherever an object or what is said of it has one."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy.preview.previews import digest, events, named, step
from tests.policy.preview.reports import CIPHERTEXT, T, report

SECRET = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/+=", min_size=10, max_size=40).map(
    "zQ{}".format
)
"""Begun as no word is that a report says of itself: Hypothesis also tries words of this project, "confidential" say."""


def planted(one: str, other: str) -> list[dict[str, Any]]:
    """Steps with secrets wherever objects have them."""
    encoded = base64.b64encode(one.encode()).decode()

    def pod(value: str) -> dict[str, Any]:
        env = [{"name": "API_TOKEN", "value": value}, {"name": "PLAIN", "value": value}]
        container = {"name": "c", "image": "r/i:1", "args": [f"--token={value}"], "command": [value], "env": env}
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": value, "ringfence.dev/rim-inputs": value}
        return {"template": {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}}

    def parameters(value: str) -> dict[str, Any]:
        opaque = {"driver": "d", "parameters": {"key": value}}
        return {"spec": {"devices": {"requests": [], "config": [{"opaque": opaque}]}}}

    def runtime(value: str) -> dict[str, Any]:
        return {"config": {"environmentVariables": [{"name": "AGENT_HTTPS_PROXY", "value": value}]}}

    return [
        step("update", "Secret", named("a", data={"k": encoded}), named("a", data={"k": other}), name="a"),
        step("create", "Secret", None, named("b", stringData={"k": one}), name="b"),
        step("delete", "Secret", named("c", stringData={"k": one}), name="c"),
        step("update", "ConfigMap", named("d", data={"toml": one}), named("d", data={"toml": other}), name="d"),
        step("update", "Deployment", named("e", spec=pod(one)), named("e", spec=pod(other)), name="e"),
        step("update", "Provider", {"kubeconfig": one}, {"kubeconfig": other}, name="f"),
        step("replace", T, named("g", spec=parameters(one)), named("g", spec=parameters(other)), name="g"),
        step("replace", "CcRuntime", named("h", spec=runtime(one)), named("h", spec=runtime(other)), name="h"),
        # Marked where else values are shown: on one side only, in a list that moves, and below a marked path.
        step("update", "DaemonSet", named("i", spec=image(one)), named("i", spec=image(CIPHERTEXT)), name="i"),
        step("update", "DaemonSet", named("j", spec=image("[secret]")), named("j", spec=image(other)), name="j"),
        step(
            "update",
            "DeviceClass",
            named("k", metadata={"labels": {"a": one}}),
            named("k", metadata={"labels": CIPHERTEXT}),
            name="k",
        ),
        step(
            "update",
            "Widget",
            named("l", spec={"password": one}),
            named("l", spec={"password": other}),
            name="l",
            detailedDiff={"spec.password": {"kind": "update"}, "data.x": {"kind": "update"}},
            outputs={"data": {"x": one}},
        ),
        # Marked by the provider in what it returns only.
        step(
            "update",
            "DaemonSet",
            named("m", spec=image(one)),
            named("m", spec=image(other)),
            name="m",
            outputs={"spec": image(CIPHERTEXT)},
        ),
    ]


def image(value: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "c", "image": value}]}}}


@settings(deadline=None, max_examples=25)
@given(SECRET, SECRET)
def test_no_secret_is_ever_in_a_report(one: str, other: str) -> None:
    """Also where a rule or a provider quotes it: rules see secrets as plain text."""
    encoded = base64.b64encode(one.encode()).decode()
    said = [
        {"severity": "error", "message": f"cannot use {one} nor {other}"},
        {"severity": "warning", "message": encoded},
    ]
    policies = [{"policyName": "r", "enforcementLevel": "mandatory", "message": f"{one} and {other} are weak"}]
    for text in (
        digest(*planted(one, other), diagnostics=said),
        events(*planted(one, other), diagnostics=said, policies=policies),
    ):
        shown = report(text)
        for secret in (one, other, encoded):
            assert secret not in shown
            assert secret not in shown.replace("\\", "").replace("<!-- -->", "")
        assert "v1:abc" not in shown


@pytest.mark.parametrize("number", range(len(planted("", ""))))
def test_a_rule_that_quotes_a_secret_is_masked_wherever_the_secret_stands(number: int) -> None:
    one = planted("planted-secret-1", "planted-secret-2")[number]
    policies = [{"policyName": "r", "enforcementLevel": "advisory", "message": "planted-secret-1, planted-secret-2"}]
    present = [secret for secret in ("planted-secret-1", "planted-secret-2") if secret in json.dumps(one)]
    text = report(events(one, policies=policies))
    assert not [secret for secret in present if secret in text]


def test_a_changed_secret_says_that_it_changed() -> None:
    """Masked on both sides they look the same; the provider's own diff tells."""
    old, new = named("x", data=CIPHERTEXT), named("x", data=CIPHERTEXT)
    text = report(digest(step("update", "Secret", old, new, detailedDiff={"data.key": {"kind": "update"}})))
    assert "1 to change" in text
    assert "a secret: that it changes, and no more" in text
