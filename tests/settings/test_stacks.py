"""Right stack files: the shipped ones, the defaults, and the same file read by the engine and by us."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.runtime.config import CONFIG

from settings import stack_file as file_text
from settings.capabilities import GATES, VERSIONS, Capabilities
from settings.errors import SettingsError
from settings.load import load, read
from settings.ring_plan import plan, plan_of_stack
from tests.components.recording import as_engine, record
from tests.settings.files import DIGEST_IMAGE, GONE, GOOD, ROOT, ring_of, stack_file


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_shipped_stacks_are_right(name: str) -> None:
    assert plan_of_stack(ROOT, name).all_templates, "a user copies them"


def test_production_names_its_image_by_digest_and_protects_its_namespaces() -> None:
    stack = read(ROOT / "Pulumi.prod.yaml")
    assert stack.ring is not None
    assert stack.ring.installed is not None
    assert "@sha256:" in stack.ring.installed.image
    assert stack.cluster.protect_namespaces


def test_the_sandbox_is_pinned_to_its_own_context_and_takes_its_kubeconfig_from_the_environment() -> None:
    cluster = read(ROOT / "Pulumi.dev.yaml").cluster
    assert (cluster.context, cluster.identifier, cluster.kubeconfig) == ("ringfence-dev", "ringfence-dev", None)


def test_neither_stack_may_fall_back_to_the_cluster_that_kubectl_points_at() -> None:
    for name in ("dev", "prod"):
        text = (ROOT / f"Pulumi.{name}.yaml").read_text()
        assert "pulumi:disable-default-providers: [kubernetes]" in text


def test_without_a_driver_section_someone_else_installs_it(tmp_path: Path) -> None:
    ring = ring_of(stack_file(tmp_path, {"ring.driver": GONE}))
    assert ring.installed is None
    assert plan(ring, ROOT, "test").node_labels == {}


def test_install_false_keeps_the_section_and_leaves_the_driver_out(tmp_path: Path) -> None:
    ring = ring_of(
        stack_file(tmp_path, {"ring.driver.install": False, "ring.profile": "hami", "ring.driver.namespace": "jobs"})
    )
    assert ring.installed is None, "then what holds for an installed driver does not matter"


@pytest.mark.parametrize(
    "image", ["registry:5000/npu:1.0", "npu:v1_2.3-rc1", DIGEST_IMAGE, f"registry/npu:1@{'sha256:' + 'a' * 64}"]
)
def test_an_image_by_tag_or_digest_is_accepted(tmp_path: Path, image: str) -> None:
    assert ring_of(stack_file(tmp_path, {"ring.driver.image": image})).driver is not None


@pytest.mark.parametrize("share", [1, 12, "10%", "100%"])
def test_nodes_that_may_be_down_are_a_number_or_a_percentage(tmp_path: Path, share: int | str) -> None:
    driver = ring_of(stack_file(tmp_path, {"ring.driver.maxUnavailable": share})).driver
    assert driver is not None
    assert driver.max_unavailable == share


def test_a_gate_that_is_turned_on_makes_up_for_an_old_version(tmp_path: Path) -> None:
    changes: dict[str, Any] = {
        "cluster.version": "1.35",
        "cluster.featureGates": {"DRAExtendedResource": True},
        "ring.extendedResources": {"npu.huawei.com": "huawei.com/npu"},
    }
    assert read(stack_file(tmp_path, changes)).cluster.capabilities.extended_resources


def test_a_drivers_status_permission_is_asked_for_from_1_36_on() -> None:
    found = {version: Capabilities(version, {}).granular_status for version in VERSIONS}  # type: ignore[arg-type]
    assert found == {"1.34": False, "1.35": False, "1.36": True, "1.37": True}


def test_every_gate_has_a_stage_in_every_version() -> None:
    assert {len(row) for row in GATES.values()} == {len(VERSIONS)}


def test_a_stack_cannot_be_changed_once_it_is_read(tmp_path: Path) -> None:
    stack = read(stack_file(tmp_path, {}))
    with pytest.raises(Exception, match="frozen"):
        stack.cluster.context = "elsewhere"


def test_the_engine_and_the_file_say_the_same(tmp_path: Path) -> None:
    assert _as_the_engine_gives(GOOD) == read(stack_file(tmp_path, {}))


def test_what_the_engine_gives_is_judged_too() -> None:
    with pytest.raises(
        SettingsError, match=r"Pulumi\.test\.yaml cannot be used:\n  ringfence:rnig: there is no such key"
    ):
        _as_the_engine_gives({"cluster": GOOD["cluster"], "rnig": GOOD["ring"]})
    with pytest.raises(SettingsError, match="ringfence:ring: is 'box16'"):
        _as_the_engine_gives({**GOOD, "ring": "box16"})


@pytest.mark.parametrize("section", ["ring", "fence", "cluster"])
def test_a_section_without_a_value_is_not_one_that_is_not_there(tmp_path: Path, section: str) -> None:
    """Or whoever comments its lines out and leaves its name has all of it removed."""
    says = f"ringfence:{section}: has no value. Write what belongs below it, or remove the key."
    with pytest.raises(SettingsError, match=says):
        read(stack_file(tmp_path, {section: None}))
    with pytest.raises(SettingsError, match=says):
        _as_the_engine_gives({**GOOD, section: ""})


@pytest.mark.parametrize("section", ["trustedCluster", "kbs", "ccRuntime"])
def test_nor_is_one_within_another(tmp_path: Path, section: str) -> None:
    """The key broker would come onto the cluster of the workloads, its keys with it."""
    fence: dict[str, Any] = {"ccOperator": {}, section: None}
    says = f"ringfence:fence.{section}: has no value. Write what belongs below it, or remove the key."
    with pytest.raises(SettingsError, match=says):
        read(stack_file(tmp_path, {"fence": fence}))


def test_a_section_with_an_encrypted_value_is_refused_before_anything_is_said_of_it(tmp_path: Path) -> None:
    """`pulumi config set --secret --path` puts one anywhere; what is said of a section may quote what is in it."""
    with pytest.raises(SettingsError) as caught:
        _as_the_engine_gives({**GOOD, "ring": {"profile": "correct horse"}}, secret=["ringfence:ring"])
    assert "ringfence:ring: has an encrypted value in it" in str(caught.value)
    assert "correct horse" not in str(caught.value)
    with pytest.raises(SettingsError) as caught:
        read(stack_file(tmp_path, {"ring.driver.env": {"TOKEN": {"secure": "v1:AAAA"}}}))
    assert [problem.key for problem in caught.value.problems] == ["ringfence:ring.driver.env.TOKEN"]


def test_a_file_is_read_as_pulumi_reads_it(tmp_path: Path) -> None:
    """What is said here was seen with pulumi 3.274: `pulumi config get` of such a file."""
    found = file_text.parse("at: 2035-12-31T00:00:00Z\nday: 2035-12-31\nsaid: yes\non: true\nnot: FALSE\nnone: ~\n")
    assert found == {
        "at": "2035-12-31 00:00:00 +0000 UTC",
        "day": "2035-12-31 00:00:00 +0000 UTC",
        "said": "yes",
        "on": True,
        "not": False,
        "none": None,
    }
    assert file_text.parse("a: &x {b: 1}\nc: {<<: *x, d: 2}\n")["c"] == {"b": 1, "d": 2}


def _as_the_engine_gives(data: Any, secret: Sequence[str] = ()) -> Any:
    before = CONFIG.get()
    pulumi.runtime.set_all_config(
        {**as_engine({f"ringfence:{key}": value for key, value in data.items()}), "other:x": "1"}, list(secret)
    )
    loaded: list[Any] = []
    try:
        record(lambda: loaded.append(load()), "test")
    finally:
        CONFIG.set(before)
    return loaded[0]
