"""`ClaimAdmission`, and the setting that asks for it."""

from __future__ import annotations

from pathlib import Path

from components.claim_admission import ClaimAdmission, ClaimAdmissionArgs
from policy.admission.objects import Action, policies
from tests.components.recording import ROOT, Registered, record, record_stack
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


def test_a_stack_that_asks_for_it_has_it_and_others_do_not(tmp_path: Path) -> None:
    text = (ROOT / "Pulumi.dev.yaml").read_text()
    assert "  ringfence:ring:\n" in text
    asking = tmp_path / "Pulumi.dev.yaml"
    asking.write_text(text.replace("  ringfence:ring:\n", "  ringfence:ring:\n    admission: {action: warn}\n"))
    assert _bindings(ROOT / "Pulumi.dev.yaml") == []
    bindings = _bindings(asking)
    assert {tuple(one.inputs["spec"]["validationActions"]) for one in bindings} == {("Warn",)}
    assert len(bindings) == len(policies(OPENFUYAO))


def _bindings(stack: Path) -> list[Registered]:
    """Those of the component: the driver has one of its own."""
    return [one for one in record_stack(stack).all(f"{POLICY}Binding") if one.name.startswith("claim-admission")]
