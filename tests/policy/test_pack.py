"""The pack as the engine meets it, without its server: proxies, unknowns, levels by environment, configuration."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_policy import (
    EnforcementLevel,
    PolicyCustomTimeouts,
    PolicyProviderResource,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policy.pack.declared import declare
from policy.pack.plain import plain
from policy.pack.policies import ADVICE, DECLARED, policies
from policy.rules.catalogue import RULES
from policy.rules.view import UNKNOWN

TAG, DIGEST = "registry.example/a:1", "registry.example/a@sha256:" + "0" * 64


def pod(*images: str) -> dict[str, Any]:
    containers = [{"name": f"c{index}", "image": image} for index, image in enumerate(images)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": containers},
    }


def options(protect: bool = False) -> PolicyResourceOptions:
    return PolicyResourceOptions(protect, [], False, [], PolicyCustomTimeouts(0, 0, 0), [])


def urn(stack: str, type: str, name: str) -> str:
    return f"urn:pulumi:{stack}::project::{type}::{name}"


class Told:
    """What one preview of some resources is told: (policy, message) of each level."""

    def __init__(self, stack: str, config: dict[str, dict[str, Any]] | None = None) -> None:
        self.stack = stack
        self.config = config or {}
        self.policies = policies(RULES)
        self.said: list[tuple[str, EnforcementLevel, str]] = []

    def _report(self, policy: Any) -> Any:
        return lambda message, urn=None: self.said.append((policy.name, policy.enforcement_level, message))

    def resource(self, type: str, props: dict[str, Any], protect: bool = False) -> Told:
        """One resource through every resource policy, in their order."""
        for policy in self.policies:
            if isinstance(policy, ResourceValidationPolicy):
                proxy: Any = unknown_checking_proxy(props)
                provider = PolicyProviderResource("pulumi:providers:kubernetes", {}, "urn", "cluster")
                where = urn(self.stack, type, "x")
                config = self.config.get(policy.name)
                args = ResourceValidationArgs(type, proxy, where, "x", options(protect), provider, config)
                policy.validate(args, self._report(policy))
        return self

    def whole(self, *resources: tuple[str, dict[str, Any]]) -> Told:
        """A stack through every stack policy; each resource depends on all before it."""
        for policy in self.policies:
            if isinstance(policy, StackValidationPolicy):
                made: list[PolicyResource] = []
                for index, (type, props) in enumerate(resources):
                    proxy: Any = unknown_checking_proxy(props)
                    where = urn(self.stack, type, str(index))
                    made.append(PolicyResource(type, proxy, where, str(index), options(), None, None, list(made), {}))
                policy.validate(StackValidationArgs(made), self._report(policy))
        return self

    def mandatory(self) -> list[str]:
        return [name for name, level, _ in self.said if level is EnforcementLevel.MANDATORY]

    def advisory(self) -> list[str]:
        return [message for _, level, message in self.said if level is EnforcementLevel.ADVISORY]


def test_proxies_become_plain_and_what_is_unknown_stays_so_by_itself() -> None:
    proxy: Any = unknown_checking_proxy(
        {"a": [1.0, UNKNOWN_STRING_VALUE, {"b": None}], "c": UNKNOWN_STRING_VALUE, "d": 1.5}
    )
    assert plain(proxy) == {"a": [1, UNKNOWN, {"b": None}], "c": UNKNOWN, "d": 1.5}
    assert isinstance(plain(proxy)["a"], list)
    assert isinstance(plain(proxy)["a"][0], int), "the wire knows no integers, and a count of 8.0 is none"


def test_production_is_stopped_and_development_is_told() -> None:
    assert Told("prod").resource("kubernetes:core/v1:Pod", pod(TAG)).mandatory() == ["image-digest"]
    told = Told("dev").resource("kubernetes:core/v1:Pod", pod(TAG))
    assert told.mandatory() == []
    assert [message.partition(":")[0] for message in told.advisory()] == ["image-digest"]


def test_one_unknown_silences_nothing_else_and_is_told() -> None:
    """The SDK would end the policy at the first unknown value, and call it advisory."""
    told = Told("prod").resource("kubernetes:core/v1:Pod", pod(UNKNOWN_STRING_VALUE, TAG, DIGEST, TAG))
    assert told.mandatory() == ["image-digest", "image-digest"]
    (note,) = [message for message in told.advisory() if message.startswith("image-digest: could not decide")]
    assert "spec.containers[0].image" in note


def test_one_unknown_resource_silences_no_other_of_the_stack() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "b.npu.huawei.com"}}]}},
    }
    unknown = {**claim, "spec": UNKNOWN_STRING_VALUE}
    classes = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "npu.huawei.com"}}
    type = "kubernetes:resource.k8s.io/v1:ResourceClaim"
    told = Told("prod").whole(
        ("kubernetes:resource.k8s.io/v1:DeviceClass", {**classes, "spec": {}}), (type, unknown), (type, claim)
    )
    assert told.mandatory() == ["class-exists"]
    assert any("could not decide" in message for message in told.advisory())


def test_the_environment_and_the_exceptions_are_configuration() -> None:
    told = Told("prod", {DECLARED: {"environment": "dev"}}).resource("kubernetes:core/v1:Pod", pod(TAG))
    assert told.mandatory() == []
    config = {DECLARED: {"environment": "dev", "mandatory": ["image-digest"]}}
    assert Told("dev", config).resource("kubernetes:core/v1:Pod", pod(TAG)).mandatory() == ["image-digest"]
    privileged = pod(DIGEST)
    privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    assert Told("prod").resource("kubernetes:core/v1:Pod", privileged).mandatory() == ["privileged"]
    listed = {DECLARED: {"privileged": ["n/p"]}}
    assert Told("prod", listed).resource("kubernetes:core/v1:Pod", privileged).mandatory() == []


def test_servers_and_version_can_be_declared_for_stacks_that_are_not_ours() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {
            "devices": {
                "requests": [{"name": "r", "exactly": {"deviceClassName": "npu.huawei.com", "count": 9}}],
                "constraints": [{"matchAttribute": "npu.huawei.com/topoHccsRingID"}],
            }
        },
    }
    type = "kubernetes:resource.k8s.io/v1:ResourceClaim"
    config = {DECLARED: {"servers": ["box16"], "kubernetes": "1.36"}}
    assert Told("prod", config).resource(type, claim).whole((type, claim)).mandatory() == [
        "replaced-not-updated",
        "satisfiable",
    ]


def test_a_wrong_configuration_is_told_once_and_the_rest_is_judged() -> None:
    told = Told("prod", {DECLARED: {"servers": ["none-such"]}})
    told.resource("kubernetes:core/v1:Pod", pod(TAG)).resource("kubernetes:core/v1:Pod", pod(TAG))
    assert told.mandatory() == [DECLARED, "image-digest", "image-digest"]
    assert "none-such" in told.said[0][2]


@pytest.mark.parametrize("type", ["aws:s3/bucket:Bucket", "kubernetes:helm.sh/v3:Release", "pulumi:pulumi:Stack"])
def test_what_is_no_object_of_a_cluster_is_left_alone(type: str) -> None:
    assert Told("prod").resource(type, {"bucket": "b"}).said == []


def test_each_rule_is_a_policy_of_its_name_so_that_its_level_can_be_set() -> None:
    named = {policy.name: policy for policy in policies(RULES)}
    assert {rule.id for rule in RULES} < set(named)
    assert next(iter(named)) == DECLARED, "it has to come before all others"
    assert named[ADVICE].enforcement_level is EnforcementLevel.ADVISORY


def test_the_pack_can_be_read_without_starting_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pack that is constructed prints a port and blocks for ever."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    pack = Path(__file__).parents[2] / "policy"
    assert "policies" in runpy.run_path(str(pack), run_name="read"), "it is there, and this came back"


def test_a_stack_of_ours_may_have_no_ring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its cluster is known all the same."""
    text = (Path(__file__).parents[2] / "Pulumi.prod.yaml").read_text()
    stack = yaml.safe_load(text)
    del stack["config"]["ringfence:ring"]
    (tmp_path / "Pulumi.fenced.yaml").write_text(yaml.safe_dump(stack))
    monkeypatch.chdir(tmp_path)
    said = declare({}, "fenced")
    assert said.cluster is not None
    assert said.cluster.version == "1.36"
    assert not said.fleet.servers
