"""What is named in the stack file and only the wiring can judge: servers, counts, resource names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from settings.errors import SettingsError
from settings.ring_plan import RingPlan, plan
from tests.settings.files import ROOT, ring_of, stack_file


def planned(folder: Path, changes: dict[str, Any], project: Path = ROOT) -> RingPlan:
    path = stack_file(folder, changes)
    return plan(ring_of(path), project, path.name)


def problem(folder: Path, changes: dict[str, Any], project: Path = ROOT) -> str:
    with pytest.raises(SettingsError) as caught:
        planned(folder, changes, project)
    (found,) = caught.value.problems
    return str(found)


def test_only_the_counts_that_are_asked_for_have_templates(tmp_path: Path) -> None:
    found = planned(tmp_path, {"ring.servers": ["box16", "310p3"], "ring.counts": {"box16": [8, 12]}})
    counts = {server.name: {template.count for template in templates} for server, templates in found.templates}
    assert counts["box16"] == {8, 12}
    assert len(counts["310p3"]) > 2, "a server that is not named keeps all of its own"


def test_without_relaxed_no_template_falls_back(tmp_path: Path) -> None:
    assert any("relaxed" in one.name for one in planned(tmp_path, {}).all_templates)
    assert not any("relaxed" in one.name for one in planned(tmp_path, {"ring.relaxed": False}).all_templates)


def test_a_resource_name_may_be_given_by_chip_as_npu_smi_prints_it(tmp_path: Path) -> None:
    found = planned(tmp_path, {"ring.extendedResources": {"910B4": "huawei.com/Ascend910"}})
    assert found.extended_resources == {"910b4.npu.huawei.com": "huawei.com/Ascend910"}


def test_a_count_that_has_no_template_says_which_have(tmp_path: Path) -> None:
    found = problem(tmp_path, {"ring.counts": {"box16": [9]}})
    assert found.startswith("ringfence:ring.counts.box16: box16 has no template for 9 NPUs")
    assert "8, 10" in found


def test_counts_of_an_unnamed_server_are_told(tmp_path: Path) -> None:
    found = problem(tmp_path, {"ring.counts": {"box61": [8]}})
    assert found == "ringfence:ring.counts.box61: box61 is none of ring.servers. Did you mean box16?"


def test_an_unknown_server_is_told_with_the_known_ones(tmp_path: Path) -> None:
    found = problem(tmp_path, {"ring.servers": ["box61"]})
    assert found.startswith("ringfence:ring.servers[0]: 'box61' is no")
    assert "box16" in found


def test_a_resource_name_for_no_class_of_the_stack_says_which_there_are(tmp_path: Path) -> None:
    found = problem(tmp_path, {"ring.extendedResources": {"310P3": "huawei.com/npu"}})
    assert found.startswith("ringfence:ring.extendedResources.310P3: is neither a DeviceClass")
    assert "910B4" in found


def test_one_resource_name_for_two_classes_is_refused(tmp_path: Path) -> None:
    found = problem(
        tmp_path, {"ring.extendedResources": {"910B4": "huawei.com/npu", "npu.huawei.com": "huawei.com/npu"}}
    )
    assert "which of them a pod gets depends on their age" in found


def test_one_class_under_two_names_is_refused(tmp_path: Path) -> None:
    changes = {"ring.extendedResources": {"910B4": "huawei.com/a", "910b4.npu.huawei.com": "huawei.com/b"}}
    assert "the DeviceClass 910b4.npu.huawei.com has a resource name already" in problem(tmp_path, changes)


def test_paths_start_at_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "captured" / "mine"
    folder.mkdir(parents=True)
    for file in (ROOT / "servers" / "910b3").iterdir():
        # The proofs too: they are of the wiring and the promises, whatever the server is called.
        (folder / file.name).write_text(file.read_text())
    found = planned(tmp_path, {"ring.servers": ["./captured/mine"]}, project=tmp_path)
    assert [server.name for server in found.servers] == ["mine"]


def test_what_is_not_proven_is_not_deployed(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    topo = (ROOT / "servers" / "910b3" / "topo.txt").read_text()
    (folder / "topo.txt").write_text(topo)
    found = problem(tmp_path, {"ring.servers": ["./mine"]}, project=tmp_path)
    assert "npu-mine-1 and 9 more of ./mine is not proven for this wiring" in found
    assert "ringfence claims prove ./mine" in found
    (folder / "proofs.json").write_text((ROOT / "servers" / "310p3" / "proofs.json").read_text())
    assert "is not proven" in problem(tmp_path, {"ring.servers": ["./mine"]}, project=tmp_path), "of another wiring"


def test_a_single_file_has_no_place_for_proofs(tmp_path: Path) -> None:
    (tmp_path / "topo.txt").write_text((ROOT / "servers" / "910b3" / "topo.txt").read_text())
    assert "Make it a folder" in problem(tmp_path, {"ring.servers": ["./topo.txt"]}, project=tmp_path)


def test_a_name_means_the_shipped_server_whatever_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "box16").mkdir()
    monkeypatch.chdir(tmp_path)
    assert planned(tmp_path, {}).servers[0].name == "box16", "a stack must not depend on where pulumi was started"


def test_two_servers_of_one_name_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "box16"
    folder.mkdir()
    (folder / "topo.txt").write_text((ROOT / "servers" / "box16" / "topo.txt").read_text())
    found = problem(tmp_path, {"ring.servers": ["box16", "./box16"]}, project=tmp_path)
    assert "their templates would have the same names" in found


def test_a_capture_that_cannot_be_trusted_is_told_with_the_server_and_the_line(tmp_path: Path) -> None:
    folder = tmp_path / "torn"
    folder.mkdir()
    text = (ROOT / "servers" / "box16" / "topo.txt").read_text().splitlines()
    text[3] = text[3][:60]
    (folder / "topo.txt").write_text("\n".join(text))
    found = problem(tmp_path, {"ring.servers": ["./torn"]}, project=tmp_path)
    assert found.startswith("ringfence:ring.servers[0]: ./torn: line 4: ")


def test_the_labels_of_the_driver_are_those_that_simulated_nodes_need(tmp_path: Path) -> None:
    assert planned(tmp_path, {}).node_labels == {"npu": "yes"}
