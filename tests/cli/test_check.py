"""`ringfence claims check`: 0 where nothing is wrong, 1 on an error, 2 where it was asked wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from cli.main import app
from settings.servers import find_server, shipped_names
from tests.policy.test_lint import CLAIM
from topology.claims import compile_templates
from topology.devices import resource_slice
from topology.profiles import OPENFUYAO


def run(*words: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["claims", "check", *map(str, words)], input=stdin)


@pytest.fixture
def claim(tmp_path: Path) -> Path:
    path = tmp_path / "claim.yaml"
    path.write_text(CLAIM)
    return path


@pytest.mark.parametrize("server", shipped_names())
def test_what_we_compile_complies_with_its_server_known(tmp_path: Path, server: str) -> None:
    templates = compile_templates(find_server(server), OPENFUYAO)
    (tmp_path / "t.yaml").write_text(yaml.safe_dump_all([template.manifest() for template in templates]))
    done = run(tmp_path, "--server", server, "--kubernetes", "1.34", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    # A form that costs more and is better all round is let through, and told.
    assert {(one["rule"], one["level"]) for one in found} <= {("worst-case", "warning")}


def test_an_error_ends_with_1_and_is_told_with_file_and_line(claim: Path) -> None:
    done = run(claim)
    assert done.exit_code == 1
    assert f"{claim}:17: error: ResourceClaim pair" in done.stdout
    assert "1 error, 0 warnings" in done.stdout
    assert run(claim, "--environment", "dev").exit_code == 0


def test_standard_input_is_read(claim: Path) -> None:
    done = run("-", stdin=CLAIM)
    assert done.exit_code == 1
    assert "<stdin>:17" in done.stdout


def test_json_sarif_and_annotations(claim: Path, tmp_path: Path) -> None:
    sarif = tmp_path / "out.sarif"
    done = run(claim, "--json", "--sarif", sarif)
    (found,) = json.loads(done.stdout)
    assert (found["rule"], found["line"], found["path"]) == (
        "request-names",
        17,
        "spec.devices.constraints[0].requests[0]",
    )
    assert json.loads(sarif.read_text())["runs"][0]["results"][0]["ruleId"] == "request-names"
    done = run(claim, "--github")
    assert done.stdout.startswith(f"::error file={claim},line=17,title=request-names::ResourceClaim pair: ")


def test_notes_are_counted_and_told_when_asked_for(claim: Path) -> None:
    assert "could not be decided from here (--notes)" in run(claim).stdout
    assert ": note: " in run(claim, "--notes").stdout


def test_slices_of_a_cluster_are_as_good_as_declared_servers(tmp_path: Path) -> None:
    dump = tmp_path / "slices.yaml"
    dump.write_text(yaml.safe_dump(resource_slice(find_server("box16"), OPENFUYAO, "n1")))
    ten = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "ten"},
        "spec": {
            "devices": {
                "requests": [{"name": "r", "exactly": {"deviceClassName": "npu", "count": 10}}],
                "constraints": [{"matchAttribute": "npu.huawei.com/topoHccsRingID"}],
            }
        },
    }
    npu = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "npu"}, "spec": {}}
    file = tmp_path / "ten.yaml"
    file.write_text(yaml.safe_dump_all([ten, npu]))
    done = run(file, "--slices", dump)
    assert done.exit_code == 1
    assert "cannot be satisfied on n1" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing to check"),
        (["none.yaml"], "No such file"),
        (["-", "--server", "none-such"], "none-such"),
        (["-", "--server", "box16", "--slices", "x"], "Name one of them"),
        (["-", "--slices", "none.yaml"], "No such file"),
        (["-", "--profile", "x"], "no such driver profile"),
        (["-", "--kubernetes", "1.33"], "1.34"),
        (["-", "--context", "x"], "one of them at a time"),
        (["--context", "none-such-context"], "none-such-context"),
        (["-", "--sarif", "/none/such/place"], "--sarif"),
        (["-", "--group", "x"], "--group"),
    ],
)
def test_a_question_asked_wrongly_ends_with_2_and_one_clear_error(words: list[str], says: str) -> None:
    done = run(*words, stdin=CLAIM)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_template_that_is_not_rendered_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "chart.yaml"
    file.write_text("{{- if .Values.on }}\nkind: DeviceClass\n{{- end }}\n")
    done = run(file)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "helm template" in done.stderr


def test_the_rules_can_be_listed() -> None:
    done = CliRunner().invoke(app, ["policy", "rules", "--json", "--group", "general"])
    assert "no-plain-secrets" in {rule["id"] for rule in json.loads(done.stdout)}
    done = CliRunner().invoke(app, ["policy", "rules"])
    assert "worst-case" in done.stdout


def test_a_dump_without_slices_is_no_dump_of_slices(claim: Path) -> None:
    """Without a word it would be checked as if no devices had been named."""
    done = run(claim, "--slices", claim)
    assert (done.exit_code, "no ResourceSlice" in done.stderr) == (2, True)
