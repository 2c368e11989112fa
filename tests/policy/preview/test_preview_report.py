"""The report on a preview as a whole: of recorded ones, with what rules found and what is proven, short, in order."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from policy.preview.evidence import Evidence
from policy.preview.markdown import code, plain, table
from policy.preview.reading import read_preview
from policy.preview.report import LIMIT, MARKER, render, section
from tests.policy.preview.previews import digest, events, named, step
from tests.policy.preview.recording import GOLDEN, RECORDED
from tests.policy.preview.reports import POD, ROLLED, UPDATE, T, report, run
from tests.topology.wirings import shipped
from topology.claims import compile_templates, wiring_hash
from topology.profiles import OPENFUYAO


@pytest.mark.parametrize("name", ["kinds", "broken", "refused"])
def test_the_report_on_a_recorded_preview_is_what_was_reviewed(name: str) -> None:
    """Recorded by tests/e2e/test_preview_report.py from the real engine. RINGFENCE_UPDATE_GOLDEN=1 writes it anew."""
    text = report((RECORDED / f"{name}.events.json").read_text())
    path = GOLDEN / f"{name}.md"
    if os.environ.get(UPDATE):
        path.write_text(text)
    assert text == path.read_text()


def test_both_forms_of_a_preview_say_the_same_of_changes() -> None:
    """They differ in policies only: the digest drops what packs found."""
    texts = [report((RECORDED / f"kinds.{form}").read_text()) for form in ("json", "events.json")]
    first, second = ([line for line in text.splitlines() if "olicies" not in line] for text in texts)
    assert first == second
    assert "PULUMI_ENABLE_STREAMING_JSON_PREVIEW" in texts[0]


def test_no_planted_secret_of_the_recorded_stack_is_in_its_report() -> None:
    for path in RECORDED.glob("*.json"):
        assert "hunter2" not in report(path.read_text()), path.name
    assert "hunter2" in (RECORDED / "kinds.json").read_text(), "or this says nothing"


POLICIES = [
    {
        "policyName": "pin",
        "enforcementLevel": "mandatory",
        "message": "image x",
        "resourceUrn": "urn:pulumi:s::p::kubernetes:apps/v1:DaemonSet::it",
    },
    {"policyName": "advice", "enforcementLevel": "advisory", "message": "better not"},
    {
        "policyName": "late",
        "enforcementLevel": "advisory",
        "message": "can't run policy 'late' from policy pack 'ringfence@v1' during preview: x",
    },
]


def test_what_rules_found_is_told_by_weight_and_what_they_could_not_decide_apart() -> None:
    text = report(events(step("update", "DaemonSet", named("d"), named("d")), policies=POLICIES))
    assert "**1 mandatory rule broken**" in text
    assert text.index("broken, mandatory") < text.index("broken, advisory") < text.index("could not decide before")
    assert "| `pin` | `d` | image x |" in text


def templates() -> list[dict[str, Any]]:
    return [template.manifest("jobs") for template in compile_templates(shipped("310p3"), OPENFUYAO)]


def test_added_templates_come_with_their_proofs_and_unproven_ones_without() -> None:
    first, second = templates()[:2]
    other = json.loads(json.dumps(second))
    other["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 3
    text = report(events(step("create", T, None, first, name="a"), step("create", T, None, other, name="b")))
    assert "Proofs: 1 of 2 added or changed templates proven" in text
    assert "| `npu-310p3-1` | 256 | 0 | 0 | 4, free: 0 |" in text
    assert "no proof of this spec on this wiring" in text


def test_a_changed_wiring_is_shown_before_and_now_where_it_is_known(tmp_path: Path) -> None:
    now = templates()[0]
    before = json.loads(json.dumps(now))
    before["metadata"]["labels"]["ringfence.dev/wiring"] = wiring_hash(shipped("box16"))
    folder = tmp_path / "310p3"
    folder.mkdir()
    folder.joinpath("topo.txt").write_text((Path(__file__).parents[3] / "servers/box16/topo.txt").read_text())
    folder.joinpath("assumed.yaml").write_text((Path(__file__).parents[3] / "servers/box16/assumed.yaml").read_text())
    text = report(events(step("update", T, before, now)), base=tmp_path)
    assert "The wiring of 310p3 changes" in text
    assert text.count("the picture of 310p3") == 2, "before and now"
    assert report(events(step("update", T, before, now))).count("the picture of 310p3") == 1, "before is not known"


def test_a_label_is_no_way_out_of_the_folder_of_servers() -> None:
    body = templates()[0]
    body["metadata"]["labels"]["ringfence.dev/server"] = "../servers/310p3"
    assert "no proof of this spec" in report(events(step("create", T, None, body)))


HOSTILE = "a|b`c\n\n## d <b>@team</b> <!-- ringfence preview-report --> [x](https://e.test)"


def test_words_of_others_cannot_become_markup() -> None:
    said = [{"severity": "error", "message": HOSTILE}]
    text = report(events(step("create", "Widget", None, named(HOSTILE)), diagnostics=said))
    assert text.startswith(MARKER)
    assert text.count(MARKER) == 2, "once as the marker, once inside a span of code"
    prose = [line for line in text.splitlines() if line.startswith("> **Error**")]
    assert "<b" not in prose[0]
    assert "@team" not in prose[0]
    assert "\n## d" not in text
    assert "[x](" not in prose[0]


@pytest.mark.parametrize("count", [50, 1000])
def test_a_comment_is_never_longer_than_github_takes(count: int) -> None:
    many = [
        step(
            "update", "DaemonSet", named(f"d{n}", f"n{n}", spec=POD), named(f"d{n}", f"n{n}", spec=ROLLED), name=f"d{n}"
        )
        for n in range(count)
    ]
    many += [step("delete", "Namespace", named("x" * 60 + str(n)), name=f"n{n}") for n in range(count)]
    text = report(digest(*many))
    assert len(text) <= LIMIT
    assert text.startswith(MARKER)
    assert text.count("<details>") == text.count("</details>")
    assert ("too long" in text) == (count > 50)


def test_what_is_cut_first_is_what_matters_least() -> None:
    text = render(
        [section("s", read_preview((RECORDED / "kinds.events.json").read_text()), Evidence(), lambda _: "")], limit=3500
    )
    assert len(text) <= 3500
    assert "The API server deletes everything in namespace old-team" in text


def test_stacks_come_in_the_order_of_their_names_and_the_same_input_gives_the_same_text() -> None:
    previews = {"b": digest(), "a": digest(step("create", "Widget", None, named("w")))}
    texts = [
        render([section(name, read_preview(previews[name]), Evidence(), lambda _: "") for name in order])
        for order in (("a", "b"), ("b", "a"))
    ]
    assert texts[0] == texts[1]
    assert texts[0].index("## a:") < texts[0].index("## b:")
    assert texts[0].count(MARKER) == 1


def test_the_docs_show_the_report_as_it_looks() -> None:
    """Written from the golden files with RINGFENCE_UPDATE_GOLDEN=1, never by hand."""
    path = Path(__file__).parents[3] / "docs" / "pull-requests.md"
    docs = path.read_text()
    wanted = docs
    for name in ("kinds", "broken"):
        body = (GOLDEN / f"{name}.md").read_text().removeprefix(MARKER).strip()
        opened, ended = f"<!-- report {name} -->\n", "\n<!-- end -->"
        before, _, rest = wanted.partition(opened)
        wanted = before + opened + body + ended + rest.partition(ended)[2]
    if os.environ.get(UPDATE):
        path.write_text(wanted)
        docs = wanted
    assert docs == wanted


CELL = re.compile(r"(?:\\.|[^|\\])*")


@pytest.mark.parametrize("text", ["a || b", "a", r"matches('a\|b')", r"x\\|y", "`|`", "|", "\\"])
def test_a_pipe_stays_in_its_cell_and_is_shown_as_it_is_elsewhere(text: str) -> None:
    """In code a backslash is shown, but in a table GitHub takes it from before a pipe (cmark-gfm, table_cell)."""
    assert text in code(text)
    last = table(["one", "two"], [[code(text), plain(text)]]).splitlines()[-1]
    assert len([cell for cell in CELL.findall(last[2:-2]) if cell.strip()]) == 2, last


def test_an_expression_in_a_list_is_shown_as_it_was_written() -> None:
    selector: dict[str, Any] = {"selectors": [{"cel": {"expression": "a || b"}}]}
    old = {**named("c", ""), "spec": {"selectors": [{"cel": {"expression": "a"}}]}}
    text = report(digest(step("update", "DeviceClass", old, {**named("c", ""), "spec": selector})))
    assert "`a || b`" in text


def test_a_kind_is_words_of_others_too() -> None:
    """A type token is what a program makes of it."""
    odd = step("create", "Widget", None, named("w", "n"))
    odd["urn"] = odd["urn"].replace("Widget", "<script>@team|x")
    text = report(digest(odd))
    assert "script" in text
    for markup in ("<script>", "@team"):
        assert markup not in text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_preview_is_read_as_powershell_keeps_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "p.json").write_text(digest(step("create", "Widget", None, named("w", "n"))), encoding=encoding)
    assert "1 to add" in run(f"s={tmp_path / 'p.json'}").stdout
