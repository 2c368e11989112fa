"""The report on a preview: what each change means is said, and no secret ever is."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from cli.main import app
from policy.preview.evidence import Evidence
from policy.preview.markdown import code, plain, table
from policy.preview.reading import PreviewError, read_preview
from policy.preview.report import LIMIT, MARKER, render, section
from tests.policy.preview.previews import digest, events, named, step
from tests.policy.preview.recording import GOLDEN, RECORDED
from tests.topology.wirings import shipped
from topology.claims import compile_templates, wiring_hash
from topology.profiles import OPENFUYAO

UPDATE = "RINGFENCE_UPDATE_GOLDEN"
SIGNATURE = "4dabf18193072939515e22adb298388d"
CIPHERTEXT = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
RIM = {"ringfence.dev/rim-inputs": "a"}


def report(text: str, **more: Any) -> str:
    return render([section("s", read_preview(text), Evidence(**more), lambda server: f"the picture of {server.name}")])


def run(*words: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, ["preview-report", *words], input=input)


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


T = "ResourceClaimTemplate"
POD: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "c", "image": "r/i:1"}]}}}
ROLLED: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "c", "image": "r/i:2"}]}}}
PLUGIN: dict[str, Any] = {"metadata": {"labels": {"app.kubernetes.io/component": "kubeletplugin"}}}
DRIVER: dict[str, Any] = named("d", "n", **PLUGIN)
SELECTED: dict[str, Any] = {"spec": {"config": {"payloadImage": "p:1"}}}


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (
            step("replace", T, named("t", "n", spec={"spec": {}}), named("t", "n", spec={"spec": {"a": 1}})),
            "keep it and their NPUs; a pod created in the moment",
        ),
        (step("replace", T, named("t", "n"), named("u", "n")), "Its name moves from n/t to n/u"),
        (step("delete", T, named("t", "n")), "a new pod that names this template stays Pending"),
        (
            step(
                "update",
                "DeviceClass",
                named("c", spec={"selectors": []}),
                named("c", spec={"selectors": [{"cel": {"expression": "true"}}]}),
            ),
            "allocations made from now on",
        ),
        (
            step("update", "DeviceClass", named("c", spec={}), named("c", spec={"extendedResourceName": "a/b"})),
            "from none to a/b",
        ),
        (step("delete", "DeviceClass", named("c")), "are not scheduled while it is gone"),
        (
            step(
                "update",
                "DaemonSet",
                {**DRIVER, "spec": POD},
                {**DRIVER, "spec": ROLLED | {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}},
            ),
            "at most 1 at once",
        ),
        (
            step("update", "DaemonSet", {**DRIVER, "spec": POD}, {**DRIVER, "spec": ROLLED}),
            "no claim is prepared there",
        ),
        (
            step(
                "update",
                "DaemonSet",
                named("d", spec=POD),
                named("d", spec=ROLLED | {"updateStrategy": {"type": "OnDelete"}}),
            ),
            "Nothing rolls by itself",
        ),
        (step("update", "DaemonSet", named("d", spec=POD), named("d", spec=ROLLED)), "`r/i:1` → `r/i:2`"),
        (step("delete", "DaemonSet", DRIVER), "Without the driver no node prepares a claim"),
        (step("replace", "DaemonSet", named("d"), named("d", spec=POD)), "on every node at once"),
        (
            step(
                "replace", "CcRuntime", named("r"), named("r", **SELECTED), outputs={"status": {"totalNodesCount": 3}}
            ),
            "taken off 3 hosts and installed anew: containerd restarts",
        ),
        (step("replace", "CcRuntime", named("r"), named("r", **SELECTED)), "taken off each host that it counts"),
        (step("update", "CcRuntime", named("r"), named("r", **SELECTED)), "It has to be replaced to take effect"),
        (step("delete", "CcRuntime", named("r")), "keep the operator until it is gone"),
        (step("create", "CcRuntime", None, named("r")), "containerd restarts there"),
        (
            step(
                "update",
                "KbsConfig",
                named("k", spec={"kbsConfigMapName": "a"}),
                named("k", spec={"kbsConfigMapName": "b"}),
            ),
            "The KBS pods roll",
        ),
        (step("delete", "KbsConfig", named("k")), "no guest attests or gets a key"),
        (
            step("update", "Secret", named("x", stringData={"a": "1"}), named("x", stringData={"a": "2"})),
            "a secret: that it changes, and no more",
        ),
        (
            step("update", "ConfigMap", named("x", data={"a": "1"}), named("x", data={"a": "2"})),
            "do not see it until they restart",
        ),
        (
            step("delete", "NodePatch", named("node-1", metadata={"labels": {"a/b": ""}})),
            "Node node-1 loses the label a/b",
        ),
        (
            step(
                "update",
                "Node",
                named("node-1", metadata={"labels": {"a/b": "c"}}),
                named("node-1", metadata={"labels": {"a/b": "d"}}),
            ),
            "Node node-1 loses the label a/b",
        ),
        (
            step("create", "NodePatch", None, named("node-1", metadata={"labels": {"a/b": ""}})),
            "Node node-1 gets the label a/b",
        ),
        (step("delete", "Namespace", named("team")), "deletes everything in namespace team"),
        (
            step(
                "delete",
                "CustomResourceDefinition",
                {
                    "metadata": {"name": "widgets.example.test"},
                    "spec": {"group": "example.test", "names": {"kind": "Widget"}},
                },
            ),
            "deletes every Widget in the cluster",
        ),
        (
            step("replace", "Provider", {"clusterIdentifier": "a"}, {"clusterIdentifier": "b"}),
            "every object behind it is replaced",
        ),
        (step("update", "Provider", {"kubeconfig": "a"}, {"kubeconfig": "b"}), "pulumi takes it for the same cluster"),
        (step("delete", "RuntimeClass", named("kata")), "New pods that name this runtime class are refused"),
        (step("delete", "ValidatingAdmissionPolicyBinding", named("b")), "What it refuses is let through"),
        (
            step("update", "ClusterRole", named("r", rules=[]), named("r", rules=[{"verbs": ["get"]}])),
            "What its subjects may do changes at once",
        ),
        (
            step(
                "update",
                "ResourceQuota",
                named("q", spec={"hard": {"pods": "1"}}),
                named("q", spec={"hard": {"pods": "2"}}),
            ),
            "none that runs is stopped",
        ),
        (
            step(
                "update",
                "Deployment",
                named("w", metadata={"annotations": RIM}),
                named("w", metadata={"annotations": {"ringfence.dev/rim-inputs": "b"}}),
            ),
            "compute the reference values anew",
        ),
        (
            step(
                "update",
                "Deployment",
                named("w", spec={"template": {"metadata": {"annotations": RIM}}}),
                named("w", spec={"template": {"metadata": {}}}),
            ),
            "compute the reference values anew",
        ),
        (step("delete", "Namespace", named("n"), protect=True), "pulumi refuses this"),
        (step("delete", "Namespace", named("n"), retainOnDelete=True), "It stays in the cluster"),
    ],
)
def test_each_kind_of_change_has_its_sentence(one: dict[str, Any], says: str) -> None:
    for form in (digest, events):
        assert says in report(form(one)).replace("\\", "")


def test_what_goes_with_a_namespace_and_a_definition_is_listed() -> None:
    crd = {"metadata": {"name": "w"}, "spec": {"group": "example.test", "names": {"kind": "Widget"}}}
    text = report(
        digest(
            step("delete", "Namespace", named("team"), name="a"),
            step("delete", T, named("t", "team"), name="b"),
            step("delete", "CustomResourceDefinition", crd, name="c"),
            step("delete", "Widget", named("w1"), name="d"),
        )
    )
    assert "Of this stack: ResourceClaimTemplate team/t." in text
    assert "Of this stack: Widget w1." in text


def test_an_unchanged_stack_says_so_in_one_line() -> None:
    assert "## s: nothing changes\n" in report(digest())


def test_a_kind_without_an_entry_gets_no_sentence() -> None:
    assert "**Widget `w`**\n" in report(digest(step("delete", "Widget", named("w"))))


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


SECRET = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/+=", min_size=12, max_size=40)


def planted(one: str, other: str) -> list[dict[str, Any]]:
    """Steps with secrets wherever objects have them."""
    encoded = base64.b64encode(one.encode()).decode()

    def pod(value: str) -> dict[str, Any]:
        env = [{"name": "API_TOKEN", "value": value}, {"name": "PLAIN", "value": value}]
        container = {"name": "c", "image": "r/i:1", "args": [f"--token={value}"], "command": [value], "env": env}
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": value, "ringfence.dev/rim-inputs": value}
        return {"template": {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}}

    def parameters(value: str) -> dict[str, Any]:
        opaque = {"driver": "d", "parameters": {"key": value}}
        return {"spec": {"devices": {"requests": [], "config": [{"opaque": opaque}]}}}

    def runtime(value: str) -> dict[str, Any]:
        return {"config": {"environmentVariables": [{"name": "AGENT_HTTPS_PROXY", "value": value}]}}

    return [
        step("update", "Secret", named("a", data={"k": encoded}), named("a", data={"k": other}), name="a"),
        step("create", "Secret", None, named("b", stringData={"k": one}), name="b"),
        step("delete", "Secret", named("c", stringData={"k": one}), name="c"),
        step("update", "ConfigMap", named("d", data={"toml": one}), named("d", data={"toml": other}), name="d"),
        step("update", "Deployment", named("e", spec=pod(one)), named("e", spec=pod(other)), name="e"),
        step("update", "Provider", {"kubeconfig": one}, {"kubeconfig": other}, name="f"),
        step("replace", T, named("g", spec=parameters(one)), named("g", spec=parameters(other)), name="g"),
        step("replace", "CcRuntime", named("h", spec=runtime(one)), named("h", spec=runtime(other)), name="h"),
        # Marked where else values are shown: on one side only, in a list that moves, and below a marked path.
        step("update", "DaemonSet", named("i", spec=image(one)), named("i", spec=image(CIPHERTEXT)), name="i"),
        step("update", "DaemonSet", named("j", spec=image("[secret]")), named("j", spec=image(other)), name="j"),
        step(
            "update",
            "DeviceClass",
            named("k", metadata={"labels": {"a": one}}),
            named("k", metadata={"labels": CIPHERTEXT}),
            name="k",
        ),
        step(
            "update",
            "Widget",
            named("l", spec={"password": one}),
            named("l", spec={"password": other}),
            name="l",
            detailedDiff={"spec.password": {"kind": "update"}, "data.x": {"kind": "update"}},
            outputs={"data": {"x": one}},
        ),
        # Marked by the provider in what it returns only.
        step(
            "update",
            "DaemonSet",
            named("m", spec=image(one)),
            named("m", spec=image(other)),
            name="m",
            outputs={"spec": image(CIPHERTEXT)},
        ),
    ]


def image(value: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "c", "image": value}]}}}


@settings(deadline=None, max_examples=25)
@given(SECRET, SECRET)
def test_no_secret_is_ever_in_a_report(one: str, other: str) -> None:
    """Also where a rule or a provider quotes it: rules see secrets as plain text."""
    encoded = base64.b64encode(one.encode()).decode()
    said = [
        {"severity": "error", "message": f"cannot use {one} nor {other}"},
        {"severity": "warning", "message": encoded},
    ]
    policies = [{"policyName": "r", "enforcementLevel": "mandatory", "message": f"{one} and {other} are weak"}]
    for text in (
        digest(*planted(one, other), diagnostics=said),
        events(*planted(one, other), diagnostics=said, policies=policies),
    ):
        shown = report(text)
        for secret in (one, other, encoded):
            assert secret not in shown
            assert secret not in shown.replace("\\", "").replace("<!-- -->", "")
        assert "v1:abc" not in shown


@pytest.mark.parametrize("number", range(len(planted("", ""))))
def test_a_rule_that_quotes_a_secret_is_masked_wherever_the_secret_stands(number: int) -> None:
    one = planted("planted-secret-1", "planted-secret-2")[number]
    policies = [{"policyName": "r", "enforcementLevel": "advisory", "message": "planted-secret-1, planted-secret-2"}]
    present = [secret for secret in ("planted-secret-1", "planted-secret-2") if secret in json.dumps(one)]
    text = report(events(one, policies=policies))
    assert not [secret for secret in present if secret in text]


def test_a_changed_secret_says_that_it_changed() -> None:
    """Masked on both sides they look the same; the provider's own diff tells."""
    old, new = named("x", data=CIPHERTEXT), named("x", data=CIPHERTEXT)
    text = report(digest(step("update", "Secret", old, new, detailedDiff={"data.key": {"kind": "update"}})))
    assert "1 to change" in text
    assert "a secret: that it changes, and no more" in text


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


WHOLE = events(step("create", "Widget", None, named("w")))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("error: could not get stack: hunter2", "has pulumi's error in place of JSON"),
        ('{"steps": [{"op": "cre', "breaks off or is no JSON at line 1"),
        (WHOLE[:-40], "breaks off"),
        (WHOLE.rpartition('{"sequence"')[0], "breaks off before pulumi's summary"),
        ("[1]", "has text in place of JSON"),
        ('{"a": 1}', "neither steps nor events"),
        ('{"steps":' * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_no_preview_ends_with_2_and_one_clear_error(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(PreviewError, match=says):
        read_preview(text)
    file = tmp_path / "preview.json"
    file.write_text(text)
    done = run(f"s={file}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    "odd",
    [
        {"steps": None},
        {"steps": [1, {"op": 3}, {"op": "create", "urn": "x"}]},
        {
            "steps": [
                {
                    "op": "update",
                    "urn": "urn:pulumi:s::p::kubernetes:core/v1:Secret::x",
                    "oldState": None,
                    "newState": {"inputs": 7},
                    "detailedDiff": {"": 1, "a[": 2},
                }
            ],
            "new": True,
        },
    ],
)
def test_unknown_fields_and_odd_values_do_not_stop_it(odd: dict[str, Any]) -> None:
    assert report(json.dumps(odd))


@pytest.mark.parametrize(
    "words", [["s"], ["=x"], ["s="], ["s=/nowhere"], ["s=-", "s=-"], ["s=-", "--base", "/nowhere"]]
)
def test_a_wrong_argument_ends_with_2(words: list[str]) -> None:
    done = run(*words, input=digest())
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_a_report_made_where_the_preview_ran_is_taken_as_it_is(tmp_path: Path) -> None:
    """So that the preview itself, in which there are secrets, need not leave its job."""
    made = tmp_path / "a.md"
    assert run(f"a={RECORDED / 'kinds.events.json'}", "--out", str(made)).exit_code == 0
    together = run("b=-", f"a={made}", input=digest())
    alone = run(f"a={RECORDED / 'kinds.events.json'}", "b=-", input=digest())
    assert together.stdout == alone.stdout


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
