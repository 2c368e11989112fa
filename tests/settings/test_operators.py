"""The sections of both operators: what they say when they are wrong, and what stands where nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from settings.cc_operator import CcOperatorSettings
from settings.explain import problems
from settings.section import Section
from settings.trustee_operator import TrusteeOperatorSettings

DIGEST = "registry.example/kbs@sha256:" + "0" * 64
IMAGES = {"kbs": DIGEST, "kbsMicroservices": DIGEST, "as": DIGEST, "rvps": DIGEST}
TRUSTEE = {"images": IMAGES}


def said(section: type[Section], written: dict[str, Any]) -> list[str]:
    """Every problem, as the loader of the stack file tells them."""
    with pytest.raises(ValidationError) as caught:
        section.model_validate_json(json.dumps(written), strict=True)
    return [str(problem).removeprefix("ringfence:") for problem in problems(caught.value, section)]


CC_PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"version": "0.12.0"}, "version: is '0.12.0'. Write 0.13.0, 0.14.0, 0.15.0, 0.16.0 or 0.17.0."),
    (
        {"image": "quay.io/confidential-containers/operator:latest"},
        "image: 'quay.io/confidential-containers/operator:latest' is whatever was pushed last, so two nodes may run "
        "two different ones. Add a digest (@sha256:…) or at least a tag other than latest.",
    ),
    (
        {"registryMirror": "https://mirror.example"},
        "registryMirror: 'https://mirror.example' is no registry. "
        "Write host, host:port or either with a path, such as registry.example/mirror.",
    ),
    (
        {"namespace": "kube-system"},
        "namespace: kube-system belongs to the cluster, and removing the stack would remove it. "
        "Leave the key out, or give the operator a namespace of its own.",
    ),
    (
        {"namespace": "Fence"},
        "namespace: 'Fence' cannot be a namespace. "
        "Use up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends.",
    ),
    (
        {"resources": {"requests": {"memory": "128Mi"}}},
        "resources: 128Mi of memory would be set aside and no more than 100Mi allowed, so no pod could be created. "
        "Write requests.memory and limits.memory together, the limit at least as large.",
    ),
    (
        {"resources": {"limits": {"cpu": "50m"}}},
        "resources: 100m of cpu would be set aside and no more than 50m allowed, so no pod could be created. "
        "Write requests.cpu and limits.cpu together, the limit at least as large.",
    ),
    (
        {"resources": {"limits": {"gpu": "1"}}},
        "resources.limits: 'gpu' is nothing a container can ask for. Write cpu, memory or ephemeral-storage.",
    ),
    ({"crd": "adopt"}, "crd: is 'adopt'. Write own or skip."),
    ({"protect": "no"}, "protect: is 'no'. Write true or false, without quotes."),
    ({"availableWithin": 0}, "availableWithin: is 0. Write at least 1."),
    ({"imagePullSecrets": [" "]}, "imagePullSecrets[0]: is empty. Write a value."),
    ({"installtype": "bundle"}, "installtype: there is no such key."),
]
TRUSTEE_PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"images": None}, "images: has no value. Write one, or remove the key."),
    (
        {"images": {key: DIGEST for key in IMAGES if key != "rvps"}},
        "images.rvps: is missing. Add it: the reference value provider, for MicroservicesDeployment.",
    ),
    (
        {"images": {key: DIGEST for key in IMAGES if key != "as"}},
        "images.as: is missing. Add it: the attestation service, for MicroservicesDeployment.",
    ),
    (
        {"images": IMAGES | {"as": "ghcr.io/confidential-containers/staged-images/coco-as-grpc"}},
        "images.as: 'ghcr.io/confidential-containers/staged-images/coco-as-grpc' is whatever was pushed last, so two "
        "nodes may run two different ones. Add a digest (@sha256:…) or at least a tag other than latest.",
    ),
    ({"version": "0.17.0"}, "version: is '0.17.0'. Write 0.5.0."),
    (
        {"resources": {"requests": {"memory": "1Gi"}}},
        "resources: 1Gi of memory would be set aside and no more than 128Mi allowed, so no pod could be created. "
        "Write requests.memory and limits.memory together, the limit at least as large.",
    ),
]


@pytest.mark.parametrize(("written", "sentence"), CC_PROBLEMS)
def test_cc_operator_says_which_key_why_and_what_instead(written: dict[str, Any], sentence: str) -> None:
    (found,) = said(CcOperatorSettings, written)
    assert found.startswith(sentence)


@pytest.mark.parametrize(("written", "sentence"), TRUSTEE_PROBLEMS)
def test_trustee_operator_says_which_key_why_and_what_instead(written: dict[str, Any], sentence: str) -> None:
    assert said(TrusteeOperatorSettings, TRUSTEE | written) == [sentence]


def test_the_images_of_the_key_broker_have_no_default() -> None:
    (found,) = said(TrusteeOperatorSettings, {})
    assert found.startswith("images: is missing."), "upstream's would be whatever was pushed last for two of them"


def test_where_nothing_is_written_upstreams_release_is_installed_and_protected() -> None:
    cc = CcOperatorSettings.model_validate({})
    assert cc.chosen_image == "quay.io/confidential-containers/operator:v0.13.0"
    assert (cc.namespace, cc.crd, cc.protect) == ("confidential-containers-system", "own", True)
    trustee = TrusteeOperatorSettings.model_validate(TRUSTEE)
    assert trustee.chosen_image == "quay.io/confidential-containers/trustee-operator:v0.5.0"
    assert (trustee.namespace, trustee.crd, trustee.protect) == ("trustee-operator-system", "own", True)


@pytest.mark.parametrize(
    "mirror", ["mirror.example", "mirror.example:5000", "mirror.example/quay.io", "10.0.0.1:80/a/b"]
)
def test_a_mirror_takes_the_place_of_the_registrys_host(mirror: str) -> None:
    found = CcOperatorSettings.model_validate({"registryMirror": mirror, "version": "0.16.0"})
    assert found.chosen_image == f"{mirror}/confidential-containers/operator:v0.16.0"


def test_an_image_that_is_written_out_is_taken_as_it_is() -> None:
    found = CcOperatorSettings.model_validate({"registryMirror": "mirror.example", "image": DIGEST})
    assert found.chosen_image == DIGEST


def test_resources_are_replaced_one_by_one() -> None:
    found = TrusteeOperatorSettings.model_validate(TRUSTEE | {"resources": {"limits": {"memory": "1Gi"}}})
    assert found.chosen_resources == {
        "requests": {"cpu": "10m", "memory": "64Mi"},
        "limits": {"cpu": "500m", "memory": "1Gi"},
    }


@pytest.mark.parametrize("section", [CcOperatorSettings, TrusteeOperatorSettings])
def test_every_key_is_described(section: type[Section]) -> None:
    assert all(field.description for field in section.model_fields.values())
