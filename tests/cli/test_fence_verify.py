"""`ringfence fence verify`: how it is asked wrongly, and what it says where no cluster answers."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from components.trustee.keys import new_authority
from tests.settings.cc import RUNTIME
from tests.settings.files import changed, stack_file
from tests.settings.kbs_files import SIMPLE, TODAY


def run(folder: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["fence", "verify", "--stack", "test", "--project", str(folder), *words])
    return done.exit_code, " ".join(done.output.split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stack_file(tmp_path, {"fence": {"ccRuntime": dict(RUNTIME)}, "cluster.kubeconfig": str(tmp_path / "none")})
    return tmp_path


def test_a_stack_without_a_file_or_without_a_fence_cannot_be_verified(tmp_path: Path) -> None:
    status, said = run(tmp_path)
    assert status == 2
    assert "cannot be read" in said
    stack_file(tmp_path, {})
    status, said = run(tmp_path)
    assert (status, "has no ringfence:fence, so there is nothing to verify." in said) == (2, True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--kbs-at", "kbs.example"], "kbs.example is not HOST:PORT"),
        (["--kbs-at", "kbs.example:99999"], "kbs.example:99999 is not HOST:PORT"),
        (["--ca", "none.pem"], "none.pem is no certificate in PEM"),
    ],
)
def test_options_that_make_no_sense_end_with_a_word(folder: Path, words: list[str], wanted: str) -> None:
    status, said = run(folder, *words)
    assert status == 2
    assert wanted in said


def test_a_cluster_that_does_not_answer_has_failed(folder: Path) -> None:
    status, said = run(folder)
    assert status == 1
    assert "failed cluster: the cluster here cannot be reached" in said
    assert "→ Make it reachable with the context of the stack file." in said
    assert "Traceback" not in said


def test_for_programs_each_finding_has_the_same_keys(folder: Path) -> None:
    status, _ = run(folder)
    done = CliRunner().invoke(app, ["fence", "verify", "--stack", "test", "--project", str(folder), "--json"])
    found = json.loads(done.stdout)
    assert (status, found["failed"]) == (1, True)
    assert {frozenset(one) for one in found["findings"]} == {frozenset({"where", "check", "state", "what", "remedy"})}


def with_broker(folder: Path) -> None:
    old = [{"name": "virtcca.realm.rim", "values": ["0" * 64], "expiration": "2020-01-01T00:00:00Z"}]
    images = dict.fromkeys(["kbs", "kbsMicroservices", "as", "rvps"], "registry.example/kbs@sha256:" + "0" * 64)
    fence = {
        "kbs": changed(SIMPLE, {"referenceValues": old}),
        "trusteeOperator": {"images": images},
        "trustedCluster": {"context": "there", "identifier": "there", "version": "1.37"},
    }
    stack_file(folder, {"fence": fence})


def test_what_has_expired_since_is_a_finding_and_no_reason_to_refuse(tmp_path: Path) -> None:
    with_broker(tmp_path)
    status, said = run(tmp_path)
    assert status == 1, said


def test_a_bundle_of_cas_may_say_in_any_language_whose_they_are(tmp_path: Path) -> None:
    with_broker(tmp_path)
    bundle = tmp_path / "ca.pem"
    bundle.write_text("# Prüfstelle 根证书\r\n" + new_authority(TODAY).certificate.replace("\n", "\r\n"), newline="")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        status, said = run(tmp_path, "--ca", str(bundle), "--kbs-at", f"127.0.0.1:{server.getsockname()[1]}")
    assert status == 1
    assert "speaks no TLS" in said
