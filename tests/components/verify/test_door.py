"""What an answer, or none, at the key broker's address says."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from components.trustee.keys import TLS_CERTIFICATE, new_authority, new_keys
from components.verify.door import Answer, Door, judge_door, knock
from sandbox.ports import LOOPBACK

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CA = new_authority(NOW)
DOOR = Door("kbs.example", 8080, tls=True, ca=CA.certificate)


@cache
def certificate() -> str:
    return new_keys(CA, ["kbs.example"], "trustee-operator-system", "Ear", NOW)[TLS_CERTIFICATE]


def said(answer: Answer, door: Door = DOOR, mounted: str | None = None, now: datetime = NOW) -> list[str]:
    return [f"{one.state}: {one.check}: {one.what}" for one in judge_door(door, answer, mounted, now)]


def answered(status: int) -> Answer:
    return Answer("answered", status=status, certificate=certificate())


def test_a_key_broker_that_gives_nothing_away_is_ok() -> None:
    assert said(answered(401), mounted=certificate()) == [
        "ok: address: https://kbs.example:8080 is reached from here; a guest's network is another.",
        "ok: TLS: its certificate is for kbs.example, of the given CA, and holds for 365 more days.",
        "ok: key broker's answer: it gives nothing to one who is not attested (HTTP 401).",
    ]


def test_what_cannot_be_reached_from_here_may_be_reached_by_guests() -> None:
    assert said(Answer("unreachable", "Connection refused")) == [
        "unknown: address: https://kbs.example:8080 cannot be reached from here: Connection refused. "
        "Whether guests reach it is unknown."
    ]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (
            Answer("refused", "unable to get local issuer certificate"),
            "failed: TLS: a guest refuses https://kbs.example:8080: unable to get local issuer certificate.",
        ),
        (
            Answer("no TLS", "WRONG_VERSION_NUMBER"),
            "failed: address: what listens at https://kbs.example:8080 speaks no TLS: WRONG_VERSION_NUMBER.",
        ),
        (answered(200), "failed: key broker's answer: it answers HTTP 200 to one who is not attested."),
        (answered(404), "failed: key broker's answer: it answers HTTP 404 where a key broker answers 401."),
    ],
)
def test_what_no_guest_could_use_has_failed(answer: Answer, wanted: str) -> None:
    assert wanted in said(answer)


@pytest.mark.parametrize(
    ("days", "wanted"),
    [
        (355, "failed: TLS: its certificate ends in 10 days."),
        (366, "failed: TLS: its certificate has expired."),
    ],
)
def test_a_certificate_that_ends_is_told_in_time(days: int, wanted: str) -> None:
    assert wanted in said(answered(401), now=NOW + timedelta(days=days))


def test_without_the_ca_it_is_unknown_whether_guests_trust_it() -> None:
    door = Door("kbs.example", 8080, tls=True)
    assert any("whether guests trust its issuer is unknown" in one for one in said(answered(401), door))


def test_another_certificate_than_that_of_the_secret_has_failed() -> None:
    other = new_authority(NOW).certificate
    assert "failed: TLS: it serves another certificate than the Secret in its namespace holds." in said(
        answered(401), mounted=other
    )


def test_where_it_was_asked_elsewhere_reaching_it_proves_nothing() -> None:
    door = Door("kbs.example", 8080, tls=True, ca=CA.certificate, at=(LOOPBACK, 1))
    assert (
        f"unknown: address: it was asked at {LOOPBACK}:1; whether guests reach https://kbs.example:8080 is unknown."
        in (said(answered(401), door))
    )


def test_knocking_where_nobody_listens_ends_at_once() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        port = taken.getsockname()[1]
    assert knock(Door("kbs.example", 8080, tls=True, at=(LOOPBACK, port))).outcome == "unreachable"
