"""`ringfence fence keys` puts keys into the stack file, shows none, and overwrites none unasked."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from typer.testing import CliRunner, Result

from cli.main import app
from settings.kbs_secrets import judge_secrets
from settings.secrets import Secret
from tests.settings.kbs_files import EAR, SIMPLE, TODAY, read

MADE = {
    "kbs-admin-private-key",
    "kbs-admin-public-key",
    "kbs-ca-certificate",
    "kbs-ca-key",
    "kbs-tls-certificate",
    "kbs-tls-key",
    "kbs-token-ca-certificate",
    "kbs-token-certificate",
    "kbs-token-key",
}
# Stands in for pulumi: keeps what it is told in a file, and the command lines in another.
PULUMI = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
kept = json.loads((here / "kept.json").read_text())
(here / "argv.txt").open("a").write(" ".join(sys.argv[1:]) + "\\n")
words = [word for word in sys.argv[1:] if not word.startswith("--")]
mode = (here / "mode.txt").read_text()
if mode == "--fail":
    sys.exit("error: no stack named 'prod' found")
if mode.startswith("full at ") and words[:3] == ["config", "set", mode.removeprefix("full at ")]:
    sys.exit("error: no space left on device")
if words[:2] == ["config", "set"]:
    assert "--secret" in sys.argv
    kept[words[2]] = sys.stdin.read().removesuffix("\\n")
    (here / "kept.json").write_text(json.dumps(kept))
elif words[:2] == ["config", "get"]:
    print(kept[words[2]])
else:
    print(json.dumps({{key: {{"secret": True}} for key in kept}}))
"""


@dataclass(frozen=True)
class Stack:
    folder: Path

    def keys(self, *words: str) -> Result:
        out = ["--ca-out", str(self.folder / "ca.pem"), "--project", str(self.folder)]
        return CliRunner().invoke(app, ["fence", "keys", "--stack", "prod", "--host", "kbs.example", *out, *words])

    @property
    def kept(self) -> dict[str, str]:
        found = json.loads((self.folder / "kept.json").read_text())
        return {key.removeprefix("secrets:"): value for key, value in found.items()}

    @property
    def secrets(self) -> dict[str, Secret]:
        values = {**self.kept, "tenant-a-image-key": "A" * 43 + "="}
        return {name: Secret(name, value) for name, value in values.items()}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    program = tmp_path / "pulumi"
    program.write_text(PULUMI.format(python=sys.executable))
    program.chmod(0o755)
    (tmp_path / "kept.json").write_text("{}")
    (tmp_path / "mode.txt").write_text("")
    (tmp_path / "Pulumi.yaml").write_text("name: a")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return Stack(tmp_path)


@pytest.mark.parametrize(("broker", "section"), [("Simple", SIMPLE), ("Ear", EAR)])
def test_what_it_makes_is_what_a_stack_needs(stack: Stack, broker: str, section: dict[str, object]) -> None:
    done = stack.keys("--broker", broker)
    assert done.exit_code == 0, done.output
    assert set(stack.kept) == MADE
    now = x509.load_pem_x509_certificate(stack.kept["kbs-tls-certificate"].encode()).not_valid_before_utc
    assert judge_secrets(read(section), stack.secrets, max(now, TODAY)) == []


def test_no_value_is_printed_or_on_a_command_line(stack: Stack) -> None:
    done = stack.keys()
    said = done.output + done.stderr + (stack.folder / "argv.txt").read_text()
    assert "BEGIN" not in said
    for value in stack.kept.values():
        for line in value.splitlines()[1:-1]:
            assert line not in said
    assert set(done.stdout.split()) == {f"secrets:{name}" for name in MADE}, "which, and not what"


def test_the_authoritys_certificate_is_for_everyone_and_a_file(stack: Stack) -> None:
    done = stack.keys()
    text = (stack.folder / "ca.pem").read_text()
    assert text.strip() == stack.kept["kbs-ca-certificate"]
    assert x509.load_pem_x509_certificate(text.encode()).extensions.get_extension_for_class(x509.BasicConstraints)
    assert "add it to the CA bundle in the guest's root file system" in done.stderr
    assert "pulumi config get secrets:kbs-admin-private-key --stack prod > FILE" in done.stderr


def test_what_is_there_is_not_overwritten_unasked(stack: Stack) -> None:
    stack.keys()
    before = stack.kept
    done = stack.keys()
    assert (done.exit_code, done.stdout) == (2, "")
    assert "are there already; replacing them shuts out who uses them. Add --rotate to replace them" in done.stderr
    assert stack.kept == before


def test_rotated_keys_are_new_and_trusted_by_the_guests_there_are(stack: Stack) -> None:
    stack.keys()
    before = stack.kept
    assert stack.keys("--rotate").exit_code == 0
    same = {name for name in MADE if before[name] == stack.kept[name]}
    assert same == {"kbs-ca-certificate", "kbs-ca-key"}, "guests have it in their root file system"
    assert stack.keys("--rotate-ca").exit_code == 0
    assert stack.kept["kbs-ca-certificate"] != before["kbs-ca-certificate"]


def test_the_certificate_is_for_every_host_and_the_service(stack: Stack) -> None:
    stack.keys("--host", "10.1.2.3")
    certificate = x509.load_pem_x509_certificate(stack.kept["kbs-tls-certificate"].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "kbs.example",
        "kbs-service",
        "kbs-service.trustee-operator-system",
        "kbs-service.trustee-operator-system.svc",
    ]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.1.2.3"]


def test_pulumis_refusal_is_told_in_its_own_words(stack: Stack) -> None:
    (stack.folder / "mode.txt").write_text("--fail")
    done = stack.keys()
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no stack named 'prod' found. Make it first: pulumi stack init prod.\n" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "https://kbs.example"], "--host 'https://kbs.example' is no host name and no address."),
        (["--host", "kbs.example:8080"], "--host 'kbs.example:8080' is no host name and no address."),
        (["--host", "schlüssel.example"], "--host 'schlüssel.example' is no host name and no address."),
        (["--host", "10.0.0.300"], "--host '10.0.0.300' is no host name and no address."),
        (["--host", ""], "--host '' is no host name and no address."),
        (["--namespace", "A_B"], "--namespace 'A_B' cannot be one."),
        (["--ca-out", "/nowhere/ca.pem"], "/nowhere/ca.pem cannot be written. Name another file with --ca-out."),
        (["--ca-out", "/"], "/ cannot be written. Name another file with --ca-out."),
        (["--project", "/nowhere"], "there is no Pulumi.yaml in /nowhere. Name the folder of one with --project."),
    ],
)
def test_what_could_not_be_ended_is_not_begun(stack: Stack, words: list[str], says: str) -> None:
    done = stack.keys(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ringfence: {says}")
    assert stack.kept == {}, "to be rotated before anyone has used it"


def test_a_set_of_which_a_part_is_kept_is_told(stack: Stack) -> None:
    (stack.folder / "mode.txt").write_text("full at secrets:kbs-tls-key")
    done = stack.keys()
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no space left on device. 4 of 9 keys are kept, which do not go together: put it right and " in done.stderr
    (stack.folder / "mode.txt").write_text("")
    assert stack.keys("--rotate-ca").exit_code == 0
    now = x509.load_pem_x509_certificate(stack.kept["kbs-tls-certificate"].encode()).not_valid_before_utc
    assert judge_secrets(read(EAR), stack.secrets, max(now, TODAY)) == []


def test_an_authority_that_is_none_is_not_used_and_not_shown(stack: Stack) -> None:
    stack.keys()
    kept = json.loads((stack.folder / "kept.json").read_text()) | {"secrets:kbs-ca-key": "correct horse"}
    (stack.folder / "kept.json").write_text(json.dumps(kept))
    done = stack.keys("--rotate")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "secrets:kbs-ca-key and secrets:kbs-ca-certificate are no authority that was made here." in done.stderr
    assert "correct horse" not in done.output
    assert stack.keys("--rotate-ca").exit_code == 0


DECLARED = {
    "config": {
        "ringfence:cluster": {"context": "a", "identifier": "a", "version": "1.37"},
        "ringfence:fence": {
            "production": False,
            "kbs": {**SIMPLE, "address": {"host": "kbs.example"}, "serviceType": "ClusterIP"},
            "trusteeOperator": {
                "namespace": "broker",
                "images": {name: f"{name.lower()}:1" for name in ("kbs", "kbsMicroservices", "as", "rvps")},
            },
        },
    }
}


def test_the_stack_file_says_what_the_keys_are_for(stack: Stack) -> None:
    """README's command names no broker: keys of the other kind would have to be rotated at once."""
    (stack.folder / "Pulumi.prod.yaml").write_text(yaml.safe_dump(DECLARED))
    assert stack.keys().exit_code == 0
    certificate = x509.load_pem_x509_certificate(stack.kept["kbs-tls-certificate"].encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "kbs-service.broker.svc" in names.get_values_for_type(x509.DNSName)
    now = certificate.not_valid_before_utc
    whole = read({**SIMPLE, "address": {"host": "kbs.example"}})
    assert judge_secrets(whole, stack.secrets, max(now, TODAY)) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--broker", "Ear"], "Pulumi.prod.yaml has kbs.token.broker: Simple. Leave --broker out, or correct one."),
        (["--namespace", "x"], "Pulumi.prod.yaml has the key broker in broker. Leave --namespace out, or correct one."),
    ],
)
def test_keys_that_would_not_fit_the_stack_file_are_not_made(stack: Stack, words: list[str], says: str) -> None:
    (stack.folder / "Pulumi.prod.yaml").write_text(yaml.safe_dump(DECLARED))
    done = stack.keys(*words)
    assert (done.exit_code, done.stderr.strip()) == (2, f"ringfence: {says}")
    assert stack.kept == {}


def test_keys_for_another_host_are_not_made(stack: Stack) -> None:
    text = yaml.safe_dump(DECLARED).replace("kbs.example", "other.example")
    (stack.folder / "Pulumi.prod.yaml").write_text(text)
    done = stack.keys()
    assert done.exit_code == 2
    assert "Pulumi.prod.yaml has kbs.address.host: other.example. Add --host other.example." in done.stderr


def test_without_a_host_it_is_asked_wrongly() -> None:
    assert CliRunner().invoke(app, ["fence", "keys", "--stack", "prod"]).exit_code == 2
