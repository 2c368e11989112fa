from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from sandbox import kubeconfig, pki
from tests.sandbox.conftest import Heard


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki") / "pki"
    pki.create(folder)
    return folder


@pytest.mark.parametrize("leaf", pki.LEAVES, ids=lambda leaf: leaf.name)
def test_every_certificate_is_verified_by_its_authority_and_by_no_other(made: Path, leaf: pki.Leaf) -> None:
    certificate = pki.load(made, leaf.name)
    for authority in pki.AUTHORITIES:
        if authority == leaf.authority:
            certificate.verify_directly_issued_by(pki.load(made, authority))
        else:
            with pytest.raises(ValueError, match="match"):
                certificate.verify_directly_issued_by(pki.load(made, authority))


@pytest.mark.parametrize("leaf", pki.LEAVES, ids=lambda leaf: leaf.name)
def test_a_certificate_is_good_for_its_purpose_only(made: Path, leaf: pki.Leaf) -> None:
    usage = pki.load(made, leaf.name).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert (ExtendedKeyUsageOID.CLIENT_AUTH in usage) is leaf.client
    assert (ExtendedKeyUsageOID.SERVER_AUTH in usage) is leaf.server


def test_a_strict_verifier_believes_the_serving_certificate_for_loopback(made: Path) -> None:
    store = Store([pki.load(made, "ca")])
    for host in ("localhost", "kubernetes.default.svc"):
        verifier = PolicyBuilder().store(store).build_server_verifier(x509.DNSName(host))
        verifier.verify(pki.load(made, "serving"), [])


def test_user_and_groups_are_what_kubernetes_reads(made: Path) -> None:
    subject = pki.load(made, "admin").subject
    assert [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters"]
    scheduler = pki.load(made, "scheduler").subject
    assert scheduler.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "system:kube-scheduler"


def test_keys_are_for_the_user_alone(made: Path) -> None:
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.glob("*.key")} == {0o600}


def test_good_certificates_are_left_alone_and_bad_ones_replaced(made: Path, tmp_path: Path, heard: Heard) -> None:
    folder = tmp_path / "pki"
    shutil.copytree(made, folder)
    before = pki.load(folder, "admin")
    pki.ensure(folder, heard)
    assert pki.load(folder, "admin") == before
    assert heard.lines == []
    pki.certificate_of(folder, "admin").write_bytes(b"-----BEGIN CERT")
    pki.ensure(folder, heard)
    assert "admin cannot be read" in heard.text
    assert pki.fault_of(folder) is None


@pytest.mark.parametrize("name", ["ca.key", "etcd-peer.crt", "service-account.pub", "scheduler.key"])
def test_a_missing_file_is_noticed(made: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "pki"
    shutil.copytree(made, folder)
    (folder / name).unlink()
    assert name in (pki.fault_of(folder) or "")


def test_mixed_up_files_are_noticed(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    shutil.copytree(made, folder)
    shutil.copyfile(folder / "admin.key", folder / "kwok.key")
    assert pki.fault_of(folder) == "kwok.key does not belong to kwok.crt"


def test_certificates_are_renewed_before_they_end(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pki, "RENEW_BEFORE", pki.VALID)
    assert "ends on" in (pki.fault_of(made) or "")


def test_a_kubeconfig_stands_alone_and_skips_no_verification(made: Path) -> None:
    text = kubeconfig.text(server="https://127.0.0.1:1", context="c", user="u", certificates=made, identity="admin")
    found = yaml.safe_load(text)
    assert found["current-context"] == "c"
    assert set(found["clusters"][0]["cluster"]) == {"server", "certificate-authority-data"}
    assert set(found["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
