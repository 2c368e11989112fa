"""Reading files with their lines, judging them, and the forms in which findings are told."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from policy.lint import reports
from policy.lint.check import Problem, check, subjects_of
from policy.lint.documents import Unreadable, read
from policy.lint.files import gather
from policy.rules.catalogue import RULES
from policy.rules.model import Environment, Level
from policy.rules.surroundings import surround

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: pair
spec:
  devices:
    requests:
    - name: a
      exactly:
        deviceClassName: npu.huawei.com
    - name: b
      exactly:
        deviceClassName: npu.huawei.com
    constraints:
    - matchAttribute: npu.huawei.com/numaNode
      requests:
      - a,b
"""


def problems(text: str) -> list[Problem]:
    documents = read(text, "f.yaml")
    subjects = subjects_of(documents)
    return check(documents, subjects, RULES, surround(subjects), Environment.PROD)


def one(text: str, rule: str) -> Problem:
    (found,) = [problem for problem in problems(text) if problem.rule == rule]
    return found


def test_a_finding_has_the_line_of_the_value_also_in_later_documents() -> None:
    assert one(CLAIM, "request-names").line == 17
    assert one(f"# a comment\n---\n---\n{CLAIM}", "request-names").line == 20


def test_what_is_missing_is_told_at_the_line_of_what_lacks_it() -> None:
    text = CLAIM.replace("    - name: b\n      exactly:\n        deviceClassName: npu.huawei.com\n", "    - name: b\n")
    assert one(text, "claim-shape").line == text.splitlines().index("    - name: b") + 1


def test_lists_are_opened_and_json_is_read() -> None:
    (document,) = read(CLAIM, "f")
    listed = {"apiVersion": "v1", "kind": "List", "items": [document.manifest]}
    typed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList", "items": [{"metadata": {"name": "x"}}]}
    text = json.dumps(listed, indent=2)
    line = next(number for number, words in enumerate(text.splitlines(), 1) if '"a,b"' in words)
    assert one(text, "request-names").line == line
    assert [one.manifest["kind"] for one in read(json.dumps(typed), "f")] == ["ResourceClaim"]
    assert one(json.dumps(listed, indent="\t"), "request-names").rule == "request-names", "YAML takes no tabs"


def test_what_is_no_object_is_passed_over() -> None:
    assert read("replicas: 1\nkind: of\n---\n- a\n---\ntext\n---\n", "values.yaml") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{- if .Values.x }}\nkind: Pod\n{{- end }}\n", r"f:1: it is a template .*helm template"),
        ("kind: Pod\nmetadata:\n  labels: {{ include \"a\" . }}\n  x: y\n", r"f:3: it is a template"),
        ("kind: [\n", "f:2: neither YAML nor JSON"),
        ("kind: Pod\nmetadata: {name: p}\n", "f:1: this Pod has no apiVersion"),
        ("apiVersion: v1\nkind: Pod\nx: !vault y\n", "neither YAML nor JSON"),
        ("a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8)
        ), "aliases"),
    ],
    ids=["helm", "helm inside", "broken", "no apiVersion", "tag", "bomb"],
)  # fmt: skip
def test_what_cannot_be_read_is_one_clear_sentence(text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        read(text, "f")


def test_folders_are_searched_and_templates_in_them_skipped_aloud(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(CLAIM)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c.yml").write_text(CLAIM)
    (tmp_path / "a" / "chart.yaml").write_text("{{ if x }}\na: b\n{{ end }}\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "d.yaml").write_text("kind: [")
    (tmp_path / "notes.txt").write_text("kind: [")
    found = gather([str(tmp_path)], io.StringIO())
    assert [Path(document.source).name for document in found.documents] == ["c.yml", "b.yaml"]
    (skipped,) = found.skipped
    assert "has not been rendered" in skipped


def test_what_was_named_has_to_be_readable(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("a: b")
    for word, says in ((tmp_path / "none.yaml", "No such file"), (tmp_path / "values.yaml", "no Kubernetes object")):
        with pytest.raises(Unreadable, match=says):
            gather([str(word)], io.StringIO())
    assert gather(["-"], io.StringIO(CLAIM)).documents[0].source == "<stdin>"


def test_text_has_file_line_level_sentence_and_rule() -> None:
    line = reports.line_of(one(CLAIM, "request-names"))
    assert line.startswith("f.yaml:17: error: ResourceClaim pair: Several requests are joined by commas")
    assert line.endswith("[request-names]")


def test_annotations_escape_what_would_end_them() -> None:
    problem = Problem("r", Level.ERROR, "a,b:c.yaml", 3, "Pod p", "spec", "50% of\nit.", "Write: this.")
    assert reports.annotation_of(problem) == (
        "::error file=a%2Cb%3Ac.yaml,line=3,title=r::Pod p: 50%25 of%0Ait. Write: this."
    )


def test_sarif_has_what_its_schema_requires() -> None:
    """The essentials of SARIF 2.1.0: one run with a tool, results that refer to its rules, places from 1 on."""
    found = problems(CLAIM)
    data: dict[str, Any] = reports.sarif(found, RULES, Environment.PROD, "1.2.3")
    assert data["version"] == "2.1.0"
    assert data["$schema"].endswith("sarif-2.1.0.json")
    (run,) = data["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "ringfence"
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error") for rule in rules)
    assert all(rule[key]["text"] for rule in rules for key in ("shortDescription", "fullDescription", "help"))
    assert [result["ruleId"] for result in run["results"]] == ["request-names"], "what is not decided is no result"
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "f.yaml"
        assert place["physicalLocation"]["region"]["startLine"] >= 1
    json.dumps(data)
