"""`pulumi up` of the dev stack settles: nothing to do the second time, nor after a refresh."""

from __future__ import annotations

import json

import pytest
from kubernetes import client

from tests.e2e.conftest import Deployed

pytestmark = pytest.mark.real


def test_a_second_up_changes_nothing_also_after_a_refresh(deployed: Deployed) -> None:
    deployed.engine.preview("dev", "--expect-no-changes")
    deployed.engine.refresh("dev")
    deployed.engine.preview("dev", "--expect-no-changes")


def test_the_stack_exports_where_each_template_is(deployed: Deployed) -> None:
    exported = deployed.engine.outputs("dev")["templates"]
    names = {template.name for _, templates in deployed.plan.templates for template in templates}
    assert {name.split("/")[-1] for name in exported} == names


def test_what_the_cluster_keeps_is_what_was_compiled(deployed: Deployed) -> None:
    """An API server drops fields of gates that are off without a word, so it is read back."""
    with deployed.api() as api:
        listed = client.ResourceV1Api(api).list_namespaced_resource_claim_template("jobs")
        kept = {
            item["metadata"]["name"]: item["spec"]["spec"] for item in api.sanitize_for_serialization(listed)["items"]
        }
    for _, templates in deployed.plan.templates:
        for template in templates:
            assert json.dumps(kept[template.name], sort_keys=True) == json.dumps(template.spec, sort_keys=True)
