"""`ClaimAdmission`, and the setting that asks for it."""

from __future__ import annotations

from components.claim_admission import ClaimAdmission, ClaimAdmissionArgs
from policy.admission.objects import Action, policies
from tests.components.recording import record
from topology.profiles import OPENFUYAO

POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"


def test_each_policy_has_a_binding_that_goes_before_it() -> None:
    made = policies(OPENFUYAO)
    recorded = record(lambda: ClaimAdmission("a", ClaimAdmissionArgs(policies=made, action=Action.DENY)))
    assert {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in recorded.all(POLICY)} == {
        one.name: one.spec for one in made
    }
    bindings = recorded.all(f"{POLICY}Binding")
    assert {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in bindings} == {
        one.name: one.binding(Action.DENY) for one in made
    }
    for one in bindings:
        assert one.depends_on == {f"a-{one.inputs['metadata']['name']}"}
        assert one.parent == "a"
