"""`DeviceClasses` and `ClaimTemplates`: what users name in a pod."""

from __future__ import annotations

import pytest

from components.claim_templates import ClaimTemplates, ClaimTemplatesArgs
from components.device_classes import DeviceClasses, DeviceClassesArgs
from tests.components.recording import Recorded, record
from topology.classes import DeviceClass
from topology.template import Template

CLASS = "kubernetes:resource.k8s.io/v1:DeviceClass"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
NAMESPACE = "kubernetes:core/v1:Namespace"

CLASSES = (DeviceClass("npu.example.com", "true"), DeviceClass("b4.npu.example.com", "false"))


def template(name: str = "npu-box-2") -> Template:
    request = {
        "name": "npu",
        "exactly": {"deviceClassName": "npu.example.com", "allocationMode": "ExactCount", "count": 2},
    }
    return Template(
        name, "box", 2, "ring", {"shape": "ring"}, {"promise": "one ring"}, {"devices": {"requests": [request]}}, {}
    )


def templates(*names: str, namespaces: tuple[str, ...] = ("jobs",), create: bool = False) -> Recorded:
    args = ClaimTemplatesArgs(
        templates=[template(name) for name in names or ("npu-box-2",)], namespaces=namespaces, create_namespaces=create
    )
    return record(lambda: ClaimTemplates("templates", args))


def test_a_class_selects_by_its_expression_and_has_a_resource_name_only_where_asked() -> None:
    args = DeviceClassesArgs(classes=CLASSES, extended_resources={"npu.example.com": "example.com/npu"})
    recorded = record(lambda: DeviceClasses("classes", args))
    specs = {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in recorded.all(CLASS)}
    assert specs == {
        "npu.example.com": {
            "selectors": [{"cel": {"expression": "true"}}],
            "extendedResourceName": "example.com/npu",
        },
        "b4.npu.example.com": {"selectors": [{"cel": {"expression": "false"}}]},
    }
    assert recorded.outputs["classes"] == {"names": ["npu.example.com", "b4.npu.example.com"]}


def test_a_resource_name_for_a_class_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not there: npu\.exmaple\.com"):
        DeviceClassesArgs(classes=CLASSES, extended_resources={"npu.exmaple.com": "example.com/npu"})


def test_a_changed_spec_is_a_replacement_and_the_old_object_goes_first() -> None:
    """The API refuses to change a spec, and the provider does not know; the name stays, so it has to be free first."""
    request = templates().one(TEMPLATE).request
    assert list(request.replaceOnChanges) == ["spec"], "else `pulumi up` fails with `field is immutable`"
    assert request.deleteBeforeReplace, "else it fails with AlreadyExists"


def test_the_object_is_the_compiled_template_unchanged() -> None:
    inputs = templates().one(TEMPLATE).inputs
    wanted = template().manifest("jobs")
    assert inputs == wanted


def test_each_namespace_gets_every_template_under_a_name_that_never_changes() -> None:
    recorded = templates("npu-a-1", "npu-a-2", namespaces=("x", "y"))
    assert [one.name for one in recorded.all(TEMPLATE)] == [
        "templates-x/npu-a-1",
        "templates-x/npu-a-2",
        "templates-y/npu-a-1",
        "templates-y/npu-a-2",
    ]


def test_names_in_pulumi_stay_apart_where_dashes_would_run_together() -> None:
    recorded = templates("c", "b-c", namespaces=("a-b", "a"))
    names = [one.name for one in recorded.all(TEMPLATE)]
    assert len(names) == len(set(names)) == 4, "two resources of one name fail the whole run"


def test_namespaces_are_made_only_if_asked_to_and_before_what_goes_in() -> None:
    assert templates().all(NAMESPACE) == [], "a team's namespace is not this stack's to delete"
    recorded = templates(create=True)
    assert recorded.one(NAMESPACE).inputs["metadata"]["name"] == "jobs"
    assert "templates-jobs" in recorded.one(TEMPLATE).depends_on


def test_what_is_published_is_told_by_namespace_and_name() -> None:
    recorded = templates("npu-a-1", namespaces=("x", "y"))
    assert recorded.outputs["templates"] == {
        "published": {"x/npu-a-1": "x/npu-a-1", "y/npu-a-1": "y/npu-a-1"},
    }


def test_two_templates_of_one_name_are_refused_before_anything_is_created() -> None:
    with pytest.raises(ValueError, match="npu-a-1"):
        ClaimTemplatesArgs(templates=[template("npu-a-1"), template("npu-a-1")], namespaces=["jobs"])
