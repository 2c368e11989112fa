"""Reading files with their lines, judging them, and the forms in which findings are told."""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace
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
        ("kind: Pod\nx: \x07\n", r"U\+0007 is not allowed"),
        ("kind: Pod\nx: " + "[" * 5000, "nested deeper"),
        ("[" * 100_000 + "]" * 100_000, "nested deeper"),
        ("apiVersion: v1\nkind: Pod\nx: &x {more: *x}\n", "nested deeper"),
        ("a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8)
        ), "aliases"),
    ],
    ids=["helm", "helm inside", "broken", "no apiVersion", "tag", "bell", "deep", "deep JSON", "in itself", "bomb"],
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_files_and_pipes_are_read_in_the_encodings_that_shells_write(tmp_path: Path, encoding: str) -> None:
    """PowerShell writes UTF-16 with a mark. What is neither that nor UTF-8 is told, and is no traceback."""
    data = CLAIM.replace("pair", "pair # \xe9").encode(encoding)
    (tmp_path / "f.yaml").write_bytes(data)
    for words, stdin in (([str(tmp_path / "f.yaml")], io.StringIO()), (["-"], io.TextIOWrapper(io.BytesIO(data)))):
        if encoding in ("cp1252", "utf-16-le"):
            with pytest.raises(Unreadable):
                gather(words, stdin)
        else:
            assert [one.manifest["kind"] for one in gather(words, stdin).documents] == ["ResourceClaim"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0000:01:00.0", "0000:01:00.0"),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("=", "="),
        ("1e3", 1000),
        ("4.0", 4),
        ("010", 8),
        ("0x10", 16),
        ("1_000", 1000),
        ("-5", -5),
        (".5", 0.5),
        ("yes", True),
        ("1.2.3", "1.2.3"),
        ("0", 0),
    ],
)
def test_scalars_are_what_kubectl_makes_of_them(text: str, value: object) -> None:
    """Not what Python's YAML makes of them: a PCI address to it is a number to base 60, and = an error."""
    (document,) = read(f"apiVersion: v1\nkind: A\nx: {text}\n", "f")
    assert (document.manifest["x"], type(document.manifest["x"])) == (value, type(value))


def test_a_key_that_stands_twice_is_told_with_both_lines() -> None:
    text = CLAIM.replace("    - name: b\n", "    - name: b\n      name: c\n")
    problem = one(text, "claim-shape")
    line = text.splitlines().index("      name: c") + 1
    assert (problem.line, problem.path) == (line, "spec.devices.requests[1].name")
    assert f"first on line {line - 1}" in problem.says
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + text.replace("\n", "\n  ")
    assert one(listed, "claim-shape").line == line + 3
    merged = CLAIM.replace("exactly:\n", "exactly: &x\n", 1).replace(
        "      exactly:\n        device", "      exactly:\n        <<: *x\n        device"
    )
    assert "<<" in merged
    assert [found for found in problems(merged) if found.rule == "claim-shape"] == [], "a merged key may be overridden"


def test_the_time_for_a_dump_grows_with_its_size_and_not_with_its_square() -> None:
    """A list of ten thousand pods and claims is a cluster, not an attack."""
    pod = "{name: p, containers: [{name: c, image: 'i:1'}], resourceClaims: [{name: n, resourceClaimName: c%d}]}"

    def seconds(number: int) -> float:
        items = "".join(
            f"- {{apiVersion: v1, kind: Pod, metadata: {{name: p{n}}}, spec: {pod % n}}}\n" for n in range(number)
        )
        items += "".join(
            f"- {{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: c{n}}}, spec: {{}}}}\n"
            for n in range(number)
        )
        before = time.process_time()
        problems(f"apiVersion: v1\nkind: List\nitems:\n{items}")
        return time.process_time() - before

    assert seconds(1600) < 10 * seconds(400)


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


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        ("a/b c.yaml", "a/b%20c.yaml"),
        (str(Path.cwd() / "a" / "b.yaml"), "a/b.yaml"),
        ("/elsewhere/b.yaml", "file:///elsewhere/b.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("./a.yaml", "a.yaml"),
    ],
)
def test_code_scanning_finds_the_file_in_the_repository(source: str, uri: str) -> None:
    """A path from the root is no URI, and no file of a repository."""
    (found,) = [replace(problem, source=source) for problem in problems(CLAIM) if problem.rule == "request-names"]
    (result,) = reports.sarif([found], RULES, Environment.PROD, "0")["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
