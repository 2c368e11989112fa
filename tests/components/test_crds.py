"""The CRDs: each field of the operators' own, with its type, neither more nor less; and the marks that they carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from components.crds import core_types
from components.crds.definitions import ccruntimes, kbsconfigs
from components.crds.schema import structural
from settings.crs.cc_runtime import CcRuntime
from settings.crs.fields import Fields, dead_fields
from settings.crs.kbs_config import KbsConfig, KbsConfigSpec
from tests.components import custom_resources as table
from tests.components.operators import judge
from tests.components.recording import empties

CRDS = {"ccruntimes": ccruntimes, "kbsconfigs": kbsconfigs}
CC = (CcRuntime, ccruntimes, table.CC_RUNTIME, table.CC_RUNTIME_REQUIRED, table.CC_RUNTIME_ENUMS, table.CC_RUNTIME_DEAD)
KBS = (
    KbsConfig,
    kbsconfigs,
    table.KBS_CONFIG,
    table.KBS_CONFIG_REQUIRED,
    table.KBS_CONFIG_ENUMS,
    table.KBS_CONFIG_DEAD,
)
both = pytest.mark.parametrize(
    ("model", "definition", "fields", "required", "enums", "dead"), [CC, KBS], ids=["CcRuntime", "KbsConfig"]
)


def schema_of(definition: Any) -> dict[str, Any]:
    found: dict[str, Any] = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def own(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(path, schema) of every field, without what is inside of Kubernetes' own types."""
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}{name}"
        yield here, inner
        if bare(inner) in CORE.values():
            continue
        if inner["type"] == "object":
            yield from own(inner, f"{here}.")
        elif inner["type"] == "array" and bare(inner["items"]) not in CORE.values():
            yield from own(inner["items"], f"{here}[].")


def bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in {"description", "nullable"}}


CORE = {kind: core_types.core_type(kind) for kind in core_types.PATHS}


def kind_of(schema: Mapping[str, Any]) -> str:
    """The word for it in the table."""
    for kind, known in CORE.items():
        if bare(schema) == known:
            return kind
    if schema["type"] == "array":
        return f"[{kind_of(schema['items'])}]"
    if schema["type"] == "object":
        return f"{{{kind_of(schema['additionalProperties'])}}}" if "additionalProperties" in schema else "{}"
    return str(schema["type"])


@pytest.mark.parametrize("name", CRDS)
def test_a_crd_is_what_was_reviewed(name: str) -> None:
    judge(yaml.safe_dump(CRDS[name](), width=120), f"crd-{name}.yaml")


@both
def test_it_has_every_field_with_its_type_and_no_other(
    model: Any, definition: Any, fields: Mapping[str, str], required: Any, enums: Any, dead: Any
) -> None:
    found = {path: kind_of(schema) for path, schema in own(schema_of(definition))}
    # What only leads to others is said by these.
    leaves = {
        path: kind
        for path, kind in found.items()
        if not any(other.startswith((f"{path}.", f"{path}[].")) for other in found)
    }
    assert {path: kind for path, kind in leaves.items() if path.startswith(("spec", "status"))} == dict(fields)


@both
def test_it_demands_what_the_real_one_demands(
    model: Any, definition: Any, fields: Any, required: set[str], enums: Any, dead: Any
) -> None:
    schemas = {"": schema_of(definition)} | dict(own(schema_of(definition)))
    found = set()
    for path, schema in schemas.items():
        if bare(schema) in CORE.values():
            continue
        inner, mark = (schema["items"], "[]") if schema.get("type") == "array" else (schema, "")
        if bare(inner) not in CORE.values():
            found |= {f"{path}{mark}.{name}".lstrip(".") for name in inner.get("required", ())}
    assert found == required


@both
def test_it_has_the_closed_sets_of_the_real_one_and_no_others(
    model: Any, definition: Any, fields: Any, required: Any, enums: Mapping[str, list[str]], dead: Any
) -> None:
    found = {path: schema["enum"] for path, schema in own(schema_of(definition)) if "enum" in schema}
    assert found == enums, "imagePullPolicy and kbsServiceType are open there, so they are here"


@both
def test_dead_fields_are_kept_and_say_so(
    model: type[Fields], definition: Any, fields: Any, required: Any, enums: Any, dead: set[str]
) -> None:
    assert {one.path for one in dead_fields(model)} == dead
    schemas = dict(own(schema_of(definition)))
    said = {path for path, schema in schemas.items() if "DEAD" in schema.get("description", "")}
    assert said == {path.removesuffix(".matchExpressions") for path in dead}, "kubectl explain shows it"
    assert all(one.why.endswith(".") for one in dead_fields(model))


def test_a_dead_field_that_is_demanded_is_known_as_such() -> None:
    assert [one.path for one in dead_fields(CcRuntime) if one.required] == ["spec.config.installType"], (
        "a rule against dead fields may not ask for its removal"
    )


@both
def test_every_field_is_described(
    model: Any, definition: Any, fields: Any, required: Any, enums: Any, dead: Any
) -> None:
    bare_ones = [path for path, schema in own(schema_of(definition)) if "description" not in schema]
    assert bare_ones == ["apiVersion", "kind", "metadata"], "of which every object has the same"


def test_the_names_and_scopes_are_the_operators() -> None:
    cc, kbs = ccruntimes(), kbsconfigs()
    assert cc["metadata"]["name"] == "ccruntimes.confidentialcontainers.org"
    assert cc["spec"]["names"] == {
        "kind": "CcRuntime",
        "listKind": "CcRuntimeList",
        "plural": "ccruntimes",
        "singular": "ccruntime",
        "shortNames": ["ccr"],
    }
    assert (cc["spec"]["scope"], kbs["spec"]["scope"]) == ("Cluster", "Namespaced")
    assert "shortNames" not in kbs["spec"]["names"]
    for crd, version in ((cc, "v1beta1"), (kbs, "v1alpha1")):
        (only,) = crd["spec"]["versions"]
        assert (only["name"], only["served"], only["storage"]) == (version, True, True)
        assert only["subresources"] == {"status": {}}


def test_only_the_node_selector_may_be_null() -> None:
    nullable = [path for path, schema in own(schema_of(ccruntimes)) if schema.get("nullable")]
    assert nullable == ["spec.ccNodeSelector"]


def test_numbers_have_the_formats_of_the_real_ones() -> None:
    assert CORE["Toleration"]["properties"]["tolerationSeconds"] == {"type": "integer", "format": "int64"}
    assert dict(own(schema_of(kbsconfigs)))["spec.KbsDeploymentSpec.replicas"]["format"] == "int32"


def test_a_pull_secrets_name_is_empty_where_none_is_written() -> None:
    assert CORE["LocalObjectReference"]["properties"]["name"] == {"type": "string", "default": ""}


def test_types_of_kubernetes_are_those_of_the_operators_age() -> None:
    """0.13.0 is built with Kubernetes 1.32: it would drop what is younger, so the API server refuses it (strictly)."""
    assert "fileKeyRef" not in CORE["EnvVar"]["properties"]["valueFrom"]["properties"]
    assert "podCertificate" not in str(CORE["Volume"])
    assert "bindMountOptions" not in CORE["VolumeMount"]["properties"]
    assert "image" in CORE["Volume"]["properties"], "which 1.31 brought"


@pytest.mark.parametrize("name", CRDS)
def test_a_crd_holds_nothing_empty_but_the_subresource(name: str) -> None:
    assert list(empties(CRDS[name]())) == [".spec.versions.0.subresources.status"]


@pytest.mark.parametrize("name", CRDS)
def test_two_of_a_kind_are_equal_and_apart(name: str) -> None:
    one, two = CRDS[name](), CRDS[name]()
    assert one == two
    one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clear()
    assert CRDS[name]() == two, "a caller that changes its own changes no other"


def test_what_no_crd_can_express_is_refused_when_it_is_written() -> None:
    class Odd(Fields):
        number: float

    with pytest.raises(TypeError, match="float"):
        structural(Odd)


def test_an_example_with_every_field_goes_through_the_models_unchanged() -> None:
    for model, (_, _, fields, _, enums, _) in ((CcRuntime, CC), (KbsConfig, KBS)):
        whole = table.example(fields, enums)
        assert model.model_validate(whole).manifest() == whole


def test_a_misspelt_field_is_refused_here_because_the_server_would_drop_it() -> None:
    with pytest.raises(ValidationError, match="kbsEnvVars"):
        KbsConfigSpec.model_validate({"kbsEnvVars": {"A": "b"}})


def test_what_is_not_set_is_not_sent() -> None:
    assert KbsConfigSpec(kbs_env_vars={"A": "b"}).manifest() == {"KbsEnvVars": {"A": "b"}}
