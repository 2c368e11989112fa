"""The admission policies on the real API server: it takes them, and refuses what the rules refuse, in their words."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client
from kubernetes.client import ApiClient

from policy.admission.checks import CHECKS
from policy.admission.objects import EXEMPT, policies
from policy.rules.catalogue import RULES
from policy.rules.context import Context
from policy.rules.find import GROUP
from policy.rules.fleet import Fleet
from policy.rules.model import Level, Rule, Subject
from policy.rules.run import judge
from sandbox import places
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.report import Silent
from tests.sandboxes import sandbox_in
from topology.profiles import OPENFUYAO

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

BY_ID = {rule.id: rule for rule in RULES}
SAID = {rule: BY_ID[rule] for rule in CHECKS}
PLURALS = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "DeviceClass": "deviceclasses",
    "DeviceTaintRule": "devicetaintrules",
}
NAMESPACED = ("ResourceClaim", "ResourceClaimTemplate")


class Refused(Exception):  # noqa: N818
    """Why the API server takes an object not."""


PROGRAM = Path(__file__).parent / "admission"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, tools: dict[str, Path]) -> Iterator[Engine]:
    """A stack with every policy, refusing what it can, which is up."""
    folder = tmp_path_factory.mktemp("program")
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".venv").symlink_to(places.CHECKOUT / ".venv")
    with sandbox_in(tmp_path_factory.mktemp("admission") / "state", "admission", tools, Silent()) as up:
        config = {"admission:context": up.context, "admission:action": "deny"}
        (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
        made = Engine(up, tools, folder, Silent())
        made.up("dev")
        yield made


@pytest.fixture(scope="module")
def api(engine: Engine) -> Iterator[ApiClient]:
    """The API server, once the policies are heeded."""
    with client_for(engine.sandbox.kubeconfig) as found:
        core: Any = client.CoreV1Api(found)
        core.create_namespace({"metadata": {"name": "exempt", "labels": {EXEMPT: "exempt"}}})
        _until_refused(found)
        yield found


def test_nothing_is_left_to_do_also_after_a_refresh(engine: Engine) -> None:
    """The API server writes defaults and a status into policies."""
    engine.preview("dev", "--expect-no-changes")
    engine.refresh("dev")
    engine.preview("dev", "--expect-no-changes")


def create(api: ApiClient, manifest: Mapping[str, Any], **query: str) -> tuple[dict[str, Any], str]:
    """(what the API server makes of it, its warnings). Refused."""
    group, version = manifest["apiVersion"].rpartition("/")[::2]
    kind = manifest["kind"]
    place = f"namespaces/{manifest['metadata'].get('namespace', 'default')}/" if kind in NAMESPACED else ""
    method, url, headers, body, *_ = api.param_serialize(
        "POST",
        f"/apis/{group}/{version}/{place}{PLURALS[kind]}",
        query_params=list(query.items()),
        header_params={"Content-Type": "application/json", "Accept": "application/json"},
        body=dict(manifest),
        auth_settings=["BearerToken"],
    )
    answer: Any = api.call_api(method, url, headers, body)
    data = json.loads(answer.read())
    if answer.status >= 400:
        raise Refused(str(data["message"]))
    return data, str(answer.getheader("Warning") or "")


def asked(api: ApiClient, manifest: Mapping[str, Any]) -> tuple[str, str]:
    """(why the API server would refuse it, what it warns of) without making anything."""
    try:
        return "", create(api, manifest, dryRun="All", fieldValidation="Strict")[1]
    except Refused as error:
        return str(error), ""


def _until_refused(api: ApiClient) -> None:
    """Bindings take a moment to be heeded; the last one made is waited for."""
    taint = yaml.safe_load(BY_ID["taint-rule-selector"].violates.text)
    deadline = time.monotonic() + 30
    while not asked(api, taint)[0]:
        assert time.monotonic() < deadline, "no policy was ever heeded"
        time.sleep(0.2)
    time.sleep(1)


def objects(rule: Rule, *, complying: bool) -> list[dict[str, Any]]:
    """Those of an example that the rule is about, as every kind of claim."""
    example = rule.complies if complying else rule.violates
    found = []
    for one in yaml.safe_load_all(example.text):
        found.append(one)
        if one["kind"] == "ResourceClaim":
            found.append({**one, "kind": "ResourceClaimTemplate", "spec": {"spec": one["spec"]}})
        elif one["kind"] == "ResourceClaimTemplate":
            found.append({**one, "kind": "ResourceClaim", "spec": one["spec"]["spec"]})
    return [one for one in found if PLURALS.get(one["kind"]) in CHECKS[rule.id][0]]


def says(rule: Rule, manifest: dict[str, Any]) -> list[str]:
    """What the rule finds in the object alone, with the profile's attribute names and no server."""
    context = Context((Subject(manifest),), Fleet(profile=OPENFUYAO))
    return [finding.says for finding in judge(rule, Subject(manifest), context).findings]


def test_the_api_server_finds_nothing_wrong_with_the_types_of_any_policy(api: ApiClient) -> None:
    registration: Any = client.AdmissionregistrationV1Api(api)
    deadline = time.monotonic() + 60
    while True:
        found = registration.list_validating_admission_policy().items
        ours = [one for one in found if one.metadata.name.startswith("ringfence-")]
        if all(one.status and one.status.observed_generation == one.metadata.generation for one in ours):
            break
        assert time.monotonic() < deadline, "the types were never checked"
        time.sleep(0.5)
    assert len(ours) == len(policies(OPENFUYAO))
    for one in ours:
        checking = one.status.type_checking
        assert not (checking and checking.expression_warnings), f"{one.metadata.name}: {checking}"


@pytest.mark.parametrize("rule", SAID.values(), ids=SAID)
def test_what_complies_is_admitted_without_a_word(api: ApiClient, rule: Rule) -> None:
    assert objects(rule, complying=True)
    for one in objects(rule, complying=True):
        assert asked(api, one) == ("", ""), one


@pytest.mark.parametrize("rule", SAID.values(), ids=SAID)
def test_what_does_not_is_refused_or_warned_of_in_the_words_of_the_rule(api: ApiClient, rule: Rule) -> None:
    assert objects(rule, complying=False)
    for one in objects(rule, complying=False):
        refused, warned = asked(api, one)
        told = refused if rule.prod is Level.ERROR else warned.replace('\\"', '"')
        (sentence, *_) = says(rule, one)
        assert sentence in told, one
        assert bool(refused) == (rule.prod is Level.ERROR), "what weighs less than an error refuses nothing"


@pytest.mark.parametrize("rule", ["claim-shape", "claim-limits", "request-names", "admin-access", "cel-compiles"])
def test_what_has_no_policy_of_ours_the_api_server_refuses_by_itself(api: ApiClient, rule: str) -> None:
    """Not in the rule's words: it has found the object invalid before any policy is asked."""
    (manifest, *_) = yaml.safe_load_all(BY_ID[rule].violates.text)
    if rule == "admin-access":
        manifest["metadata"]["namespace"] = "default"
    refused, _ = asked(api, manifest)
    assert refused
    assert "ringfence" not in refused


def test_every_rule_on_every_example_agrees_with_its_policy(api: ApiClient) -> None:
    """Examples of other rules, too: what a policy refuses, its rule finds, and the other way round."""
    compared = 0
    for other in RULES:
        for example in (other.complies, other.violates):
            for one in yaml.safe_load_all(example.text):
                plural = PLURALS.get(one["kind"])
                if plural is None or one["apiVersion"] != f"{GROUP}/v1" or "pulumi" in one:
                    continue
                one["metadata"]["namespace"] = "default"
                refused, warned = asked(api, one)
                if refused and "ringfence-" not in refused:
                    continue
                for id, rule in SAID.items():
                    if plural not in CHECKS[id][0]:
                        continue
                    found = [
                        one
                        for one in judge(rule, Subject(one), Context((), Fleet(profile=OPENFUYAO))).findings
                        if one.level is None
                    ]
                    policy = f"ringfence-{id}-{plural}"
                    told = f"'{policy}'" in refused or f"'{policy}'" in warned
                    if not refused or rule.prod is Level.ERROR:
                        compared += 1
                        assert bool(found) == told or (found and refused), f"{policy} on {one}: {refused}{warned}"
    assert compared > 50


def test_a_namespace_can_be_exempt(api: ApiClient) -> None:
    claim = yaml.safe_load(BY_ID["claim-devices"].violates.text)
    assert asked(api, claim)[0]
    claim["metadata"]["namespace"] = "exempt"
    assert asked(api, claim) == ("", "")
