"""The command says one clear thing, with the exit status that scripts rely on: 0 done, 1 wrong, 2 asked wrongly."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner, Result

from cli import claims, main, output
from cli.late import Late
from cli.main import app
from tests.topology.wirings import SERVERS, box16, text

MAIN = ("-c", "from cli.start import main; main()")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_show_prints_the_contracts_json() -> None:
    done = run("topo", "show", str(SERVERS / "box16" / "topo.txt"), "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert {"npus", "relations", "warnings"} <= data.keys()
    assert data["npus"][9]["id"] == 9
    assert {key: data["npus"][9][key] for key in ("ring", "sio", "pix", "phb", "numa", "affinity")} == {
        "ring": 1,
        "sio": None,
        "pix": 1,
        "phb": 0,
        "numa": 0,
        "affinity": "0-51,104-155",
    }
    assert data["relations"][0][:9] == ["X", *["HCCS"] * 7, "PIX"]
    assert data["warnings"] == []


def test_show_prints_the_matrix_and_the_groups_for_a_person() -> None:
    done = run("topo", "show", "box16")
    assert done.exit_code == 0
    for words in ("NPU15", "HCCS rings", "{0-7}  {8-15}", "PIX groups", "{0,8}", "NUMA nodes", "{0-3,8-11}"):
        assert words in done.stdout
    assert "assumed, not captured" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("This device does not support querying topo.", 1, "npu-smi refused"),
        ("", 1, "empty"),
        (text(box16, ids=range(16))[:900], 1, "Run `npu-smi info -t topo`"),
    ],
)
def test_a_text_that_cannot_be_trusted_ends_with_1_and_one_line(
    tmp_path: Path, words: str, status: int, says: str
) -> None:
    file = tmp_path / "capture.txt"
    file.write_text(words)
    done = run("topo", "show", str(file), "--json")
    assert (done.exit_code, done.stdout) == (status, ""), "no half-done data on standard output"
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_picture_is_no_capture(tmp_path: Path) -> None:
    file = tmp_path / "capture.png"
    file.write_bytes(b"\x89PNG\0\0")
    assert run("topo", "show", str(file)).exit_code == 1


def test_a_capture_saved_on_windows_is_read(tmp_path: Path) -> None:
    file = tmp_path / "capture.txt"
    file.write_bytes(text(box16, ids=range(16)).encode("utf-16"))
    assert run("topo", "show", str(file), "--json").exit_code == 0


@pytest.mark.parametrize(
    "words", [["topo", "show", "nowhere"], ["topo", "show"], ["claims", "compile", "box16", "--profile", "x"]]
)
def test_a_question_asked_wrongly_ends_with_2(words: list[str]) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert done.stdout == ""


def test_an_unknown_server_names_those_there_are() -> None:
    assert "800i-a2" in run("topo", "show", "nowhere").stderr


def test_compile_prints_what_kubectl_takes_the_same_every_time() -> None:
    done = run("claims", "compile", "box16", "--count", "12")
    assert done.exit_code == 0
    (template,) = yaml.safe_load_all(done.stdout)
    assert (template["apiVersion"], template["kind"]) == ("resource.k8s.io/v1", "ResourceClaimTemplate")
    assert template["metadata"]["name"] == "npu-box16-12"
    assert done.stdout == run("claims", "compile", "box16", "--count", "12").stdout


def test_compile_writes_a_file_for_each_template(tmp_path: Path) -> None:
    assert run("claims", "compile", "800t-a3", "--out", str(tmp_path / "out")).exit_code == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        f"npu-800t-a3-{count}.yaml" for count in (1, 2, 4, 6, 8)
    ]


def test_a_count_without_a_template_ends_with_1_and_says_which_there_are() -> None:
    done = run("claims", "compile", "box16", "--count", "9")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "10, 12, 14, 16" in done.stderr


def test_an_isolated_server_is_shown_with_its_fault_and_not_compiled(tmp_path: Path) -> None:
    file = tmp_path / "capture.txt"
    file.write_text(text(lambda a, b: "SYS"))
    shown = run("topo", "show", str(file), "--json")
    assert "isolated" in json.loads(shown.stdout)["warnings"][-1]
    assert run("claims", "compile", str(file)).exit_code == 1


def test_companion_captures_can_be_named_beside_a_file(tmp_path: Path) -> None:
    info = SERVERS / "910b3" / "info.txt"
    done = run("topo", "show", str(SERVERS / "910b3" / "topo.txt"), "--info", str(info), "--json")
    assert json.loads(done.stdout)["npus"][2]["busId"] == "0000:81:00.0"
    assert run("topo", "show", "910b3", "--pci", str(tmp_path / "none")).exit_code == 2


def test_prove_prints_the_contracts_rows_and_takes_shipped_proofs_as_they_are() -> None:
    done = run("claims", "prove", "800t-a3", "--json")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    assert rows[-1] == {
        "template": "npu-800t-a3-8",
        "count": 8,
        "states": 256,
        "lost": 0,
        "broken": 0,
        "worst_calls": 77,
        "worst_state": [0, 1, 2, 3, 4, 5, 6],
    }


def test_a_capture_can_be_proven_before_it_is_shipped(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "topo.txt").write_text((SERVERS / "800t-a3" / "topo.txt").read_text())
    assert run("claims", "prove", str(folder)).exit_code == 0
    kept = json.loads((folder / "proofs.json").read_text())
    assert [row["template"] for row in kept] == [f"npu-mine-{count}" for count in (1, 2, 4, 6, 8)]


def test_admission_prints_what_kubectl_takes_and_writes_a_file_for_each_policy(tmp_path: Path) -> None:
    printed = run("policy", "admission", "--action", "deny")
    objects = list(yaml.safe_load_all(printed.stdout))
    assert printed.stdout == run("policy", "admission", "--action", "deny").stdout, "the same every time"
    assert {one["kind"] for one in objects} == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    done = run("policy", "admission", "--action", "deny", "--out", str(tmp_path / "new"))
    assert done.exit_code == 0
    files = sorted((tmp_path / "new").iterdir())
    written = [one for file in files for one in yaml.safe_load_all(file.read_text())]
    assert len(files) * 2 == len(objects)
    assert all(one in objects for one in written)


def test_admission_for_an_unknown_profile_ends_with_2_and_says_which_there_are() -> None:
    done = run("policy", "admission", "--profile", "none-such")
    assert done.exit_code == 2
    assert "none-such" in done.stderr
    assert "openfuyao" in done.stderr


def test_a_capture_comes_through_a_pipe_as_from_a_file() -> None:
    """`ssh host npu-smi info -t topo | ringfence topo show -`"""
    capture = SERVERS / "box16" / "topo.txt"
    with capture.open("rb") as pipe:
        words = [sys.executable, *MAIN, "topo", "show", "-", "--json"]
        piped = subprocess.run(words, check=True, stdin=pipe, capture_output=True, text=True)
    assert json.loads(piped.stdout)["npus"] == json.loads(run("topo", "show", str(capture), "--json").stdout)["npus"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("words", [["policy", "rules"], ["policy", "rules", "--json"], ["claims", "compile", "box16"]])
def test_a_full_disk_is_one_sentence(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, *MAIN, *words], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("ringfence: standard output cannot be written")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("commands", [main.COMMANDS, claims.COMMANDS], ids=["ringfence", "claims"])
def test_what_is_listed_of_a_command_is_how_its_own_help_begins(commands: dict[str, Late]) -> None:
    for name, late in commands.items():
        listed, own = (" ".join(text.split()) for text in (late.help, late.load(name).help))
        assert own.startswith(listed), name
        assert listed.endswith("."), name


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["claims", "--help"],
        ["topo", "show", "box16"],
        ["claims", "compile", "box16", "--count", "2"],
        ["claims", "check", "-"],
        ["claims", "explain", "none", "--slices", "/dev/null"],
        ["policy", "rules"],
    ],
    ids=" ".join,
)
def test_what_needs_no_cluster_and_no_stack_does_not_wait_for_their_libraries(words: list[str]) -> None:
    """Pulumi and the Kubernetes client take longer to import than these take to run."""
    script = (
        "import sys\nfrom cli.main import app\ntry:\n    app()\nfinally:\n"
        "    print(*sorted({one.partition('.')[0] for one in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], check=False, input="", capture_output=True, text=True)
    imported = set(done.stderr.splitlines()[-1].split())
    assert "typer" in imported
    assert not imported & {"kubernetes", "pulumi", "grpc", "cryptography"}, words


def test_no_word_of_a_table_is_cut_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("rule", "what complies")
    table.add_row("constraint-attribute-gap", "Objects of the resource API are resource.k8s.io/v1")
    told = io.StringIO()
    monkeypatch.setattr(output, "out", Console(file=told, force_terminal=True, width=24))
    monkeypatch.setattr(output, "Console", lambda **settings: Console(file=told, **settings))
    output.print_table(table)
    folded = re.sub(r"\x1b\[[0-9;]*m", "", told.getvalue())
    assert "…" not in folded
    written = [one for column in table.columns for cell in column.cells for one in str(cell) if one.isalnum()]
    assert sorted(one for one in folded if one.isalnum()) == sorted([*"rule", *"whatcomplies", *written])


def test_ctrl_c_while_a_command_is_imported_is_one_line(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n    pass\n"
    )
    script = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cli.late import Late\nLate('slow:nothing', '').load('slow')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (130, "ringfence: stopped before it began.\n")
