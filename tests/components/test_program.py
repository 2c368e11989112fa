"""The whole program against mocks: what the shipped stacks would create, and how it hangs together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from settings.ring_plan import plan_of_stack
from tests.components.recording import ROOT, Recorded, Registered, as_engine, empties, record, record_stack

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "RINGFENCE_UPDATE_GOLDEN"
STACKS = ("dev", "prod")

TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
CLASS = "kubernetes:resource.k8s.io/v1:DeviceClass"
NAMESPACE = "kubernetes:core/v1:Namespace"
PROVIDER = "pulumi:providers:kubernetes"
PROTECTED = ("npu-dra-driver", "confidential-containers-system", "trustee-operator-system")


@pytest.fixture(scope="module", params=STACKS)
def stack(request: pytest.FixtureRequest) -> tuple[str, Recorded]:
    name: str = request.param
    return name, record_stack(ROOT / f"Pulumi.{name}.yaml")


def test_what_the_shipped_stacks_create_is_what_was_reviewed(stack: tuple[str, Recorded]) -> None:
    """Golden files, so that a change of what is deployed is read as such in a pull request. Templates have their own.

    RINGFENCE_UPDATE_GOLDEN=1 .venv/bin/pytest tests/components/test_program.py writes them anew.
    """
    name, recorded = stack
    objects = sorted(recorded.kubernetes(), key=lambda one: (one.type, one.name))
    objects = [one for one in objects if one.type != TEMPLATE]
    text = unmade(yaml.safe_dump_all([told(one) for one in objects], allow_unicode=True, width=120), recorded)
    path = GOLDEN / f"{name}.yaml"
    if os.environ.get(UPDATE):
        path.write_text(text)
    assert text == path.read_text(), f"not what {path.name} says; write it anew with {UPDATE}=1 and read the difference"


def told(one: Registered) -> dict[str, Any]:
    """The inputs, but of a Secret its keys only, and a CRD by its name: it has a golden file of its own."""
    if one.type == "kubernetes:core/v1:Secret":
        return {**one.inputs, "data": dict.fromkeys(one.inputs["data"], "…")}
    return {**one.inputs, "spec": "…"} if one.type.endswith(":CustomResourceDefinition") else one.inputs


def unmade(text: str, recorded: Recorded) -> str:
    """Without what is in the names of keys and certificates that were made for this run."""
    exported = [outputs["kbsInputs"] for outputs in recorded.outputs.values() if "kbsInputs" in outputs]
    for role, name in (pair for names in exported for pair in names.items()):
        if role in {"auth", "tls-certificate", "tls-key", "token-signer"}:
            text = text.replace(name, f"{name.rpartition('-')[0]}-…")
    return text


def test_the_templates_are_those_that_were_compiled_in_every_namespace(stack: tuple[str, Recorded]) -> None:
    """Field by field, so that tests/topology/golden says what is deployed."""
    name, recorded = stack
    plan = plan_of_stack(ROOT, name)
    wanted = {
        f"claim-templates-{namespace}/{template.name}": template.manifest(namespace)
        for namespace in plan.namespaces
        for template in plan.all_templates
    }
    assert {one.name: one.inputs for one in recorded.all(TEMPLATE)} == wanted


def test_no_object_has_an_empty_list_or_mapping(stack: tuple[str, Recorded]) -> None:
    _, recorded = stack
    found = {one.name: list(empties(told(one))) for one in recorded.kubernetes()}
    assert not {name: paths for name, paths in found.items() if paths}, (
        "the API server drops what is empty, so each refresh would find a difference, and replace the template for it"
    )


def test_every_object_has_a_parent_a_name_and_the_provider_of_its_own_cluster(stack: tuple[str, Recorded]) -> None:
    _, recorded = stack
    trusted = {"trustee-operator", "kbs"}
    ours = {
        "npu-dra-driver",
        "device-classes",
        "claim-templates",
        "cc-operator",
        "cc-runtime",
        "inference/scorer",
        *trusted,
    }
    for one in recorded.kubernetes():
        assert one.parent in ours, f"{one.name} has no component"
        assert one.inputs["metadata"]["name"], f"{one.name} would get a random name, by which no user can refer to it"
        provider = "trusted-cluster" if one.parent in trusted else "cluster"
        assert f"::{provider}::" in one.request.provider, f"{one.name} could land on a cluster that is not its own"


def test_the_providers_are_the_clusters_of_the_stack_file(stack: tuple[str, Recorded]) -> None:
    name, recorded = stack
    wanted = {"dev": ["ringfence-dev"], "prod": ["npu-prod-a", "trust-prod-a"]}[name]
    assert [one.inputs["context"] for one in recorded.all(PROVIDER)] == wanted
    for one in recorded.all(PROVIDER):
        assert one.inputs["clusterIdentifier"] == one.inputs["context"], "else a new kubeconfig replaces everything"
        assert one.inputs["enableServerSideApply"] in (True, "true")


def test_every_template_is_exported_with_the_place_where_it_is(stack: tuple[str, Recorded]) -> None:
    _, recorded = stack
    placed = {
        f"{one.inputs['metadata']['namespace']}/{one.inputs['metadata']['name']}" for one in recorded.all(TEMPLATE)
    }
    exported = next(outputs["templates"] for outputs in recorded.outputs.values() if "templates" in outputs)
    assert exported == {place: place for place in placed}


def test_namespaces_of_production_are_protected_and_those_of_the_sandbox_are_not(stack: tuple[str, Recorded]) -> None:
    name, recorded = stack
    found = {one.inputs["metadata"]["name"]: one.request.protect for one in recorded.all(NAMESPACE)}
    assert found == {"dev": {"jobs": False, "npu-dra-driver": False}, "prod": dict.fromkeys(PROTECTED, True)}[name], (
        "deleting a namespace deletes all that is in it, which no preview shows; `make down` has to be able to"
    )


def test_templates_wait_for_their_classes(stack: tuple[str, Recorded]) -> None:
    _, recorded = stack
    classes = {one.name for one in recorded.all(CLASS)}
    for one in recorded.all(TEMPLATE):
        assert classes <= one.depends_on, "a pod with a template whose class is missing stays pending"


def test_a_wrong_stack_file_ends_the_run_with_its_problems_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text("config: {ringfence:ring: {servers: [box16], namespaces: [jobs]}}")
    with pytest.raises(pulumi.RunError, match=r"Pulumi\.dev\.yaml cannot be used:\n  ringfence:cluster: is missing\."):
        record_stack(path)


def test_the_program_is_short_because_it_only_wires() -> None:
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 65


def test_nothing_is_registered_by_the_recorder_itself() -> None:
    assert record(lambda: None).resources == [], "or the tests above would count what no program asked for"
    assert as_engine({"a:b": {"c": "1.37"}}) == {"a:b": '{"c": "1.37"}'}
