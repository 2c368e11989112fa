"""Knocking at the key broker's door, once, as a guest would before it is attested; and what the answer says."""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509

from components.verify.finding import Finding, failed, ok, unknown

PATH = "/kbs/v0/resource/default/ringfence/nothing"
"""A resource: the KBS answers 401 to whoever has not been attested, before it looks whether there is one."""

ANSWER_WITHIN = 5.0
SOON = timedelta(days=14)

Outcome = Literal["unreachable", "no TLS", "refused", "no HTTP", "answered"]
_MISMATCH = frozenset({62, 64})
"""X509_V_ERR_HOSTNAME_MISMATCH and _IP_ADDRESS_MISMATCH."""


@dataclass(frozen=True)
class Door:
    """host: as guests know it, and as the certificate has to name it. at: where to knock instead, host and port.

    ca: PEM of the authority that guests trust; None where it is not known.
    """

    host: str
    port: int
    tls: bool
    ca: str | None = None
    at: tuple[str, int] | None = None


@dataclass(frozen=True)
class Answer:
    """certificate: the one that was served, PEM. why: of what went wrong. status: of HTTP."""

    outcome: Outcome
    why: str = ""
    status: int | None = None
    certificate: str | None = None


Knock = Callable[[Door], Answer]


def knock(door: Door) -> Answer:
    """Connect, shake hands and ask for a resource that nobody has."""
    try:
        plain = socket.create_connection(door.at or (door.host, door.port), timeout=ANSWER_WITHIN)
    except OSError as error:
        return Answer("unreachable", str(error.strerror or error))
    with plain:
        if not door.tls:
            return _ask(plain, door, None)
        context = ssl.create_default_context(cadata=door.ca)
        if door.ca is None:
            # Only to see which certificate it has; nothing is sent that is secret.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            secured = context.wrap_socket(plain, server_hostname=door.host)
        except ssl.SSLCertVerificationError as error:
            why = "it is not for " + door.host if error.verify_code in _MISMATCH else str(error.verify_message)
            return Answer("refused", why)
        except (ssl.SSLError, OSError) as error:
            return Answer("no TLS", str(getattr(error, "reason", None) or error))
        with secured:
            served = secured.getpeercert(binary_form=True)
            return _ask(secured, door, ssl.DER_cert_to_PEM_cert(served) if served else None)


def _ask(there: socket.socket, door: Door, certificate: str | None) -> Answer:
    request = f"GET {PATH} HTTP/1.1\r\nHost: {door.host}:{door.port}\r\nConnection: close\r\n\r\n"
    try:
        there.sendall(request.encode())
        response = http.client.HTTPResponse(there)
        response.begin()
    except (OSError, http.client.HTTPException) as error:
        return Answer("no HTTP", str(error) or type(error).__name__, certificate=certificate)
    return Answer("answered", status=response.status, certificate=certificate)


def judge_door(door: Door, answer: Answer, mounted: str | None, now: datetime) -> Iterator[Finding]:
    """mounted: the certificate in the key broker's Secret, PEM, None where it could not be read."""
    url = f"{'https' if door.tls else 'http'}://{door.host}:{door.port}"
    place = f"{url} (at {door.at[0]}:{door.at[1]})" if door.at else url
    reach, trust, speech = "address", "TLS", "key broker's answer"
    if answer.outcome == "unreachable":
        what = f"{place} cannot be reached from here: {answer.why}. Whether guests reach it is unknown."
        yield unknown(reach, what, f"From a node of the workload cluster: curl --cacert CA {url}{PATH} gives 401.")
        return
    if answer.outcome == "no TLS":
        yield failed(reach, f"what listens at {place} speaks no TLS: {answer.why}.", "See what else listens there.")
        return
    if answer.outcome == "refused":
        what = f"a guest refuses {place}: {answer.why}."
        remedy = (
            "Give guests the CA that issued it, or make a certificate of the CA they have, with this host: ringfence "
            f"fence keys --rotate --host {door.host}."
        )
        yield failed(trust, what, remedy)
        return
    if door.at is None:
        yield ok(reach, f"{place} is reached from here; a guest's network is another.")
    else:
        yield unknown(reach, f"it was asked at {door.at[0]}:{door.at[1]}; whether guests reach {url} is unknown.")
    yield from _trust(trust, door, answer, mounted, now)
    if answer.outcome == "no HTTP":
        yield failed(speech, f"what listens at {place} speaks no HTTP: {answer.why}.", "See what else listens there.")
    elif answer.status == 401:
        yield ok(speech, "it gives nothing to one who is not attested (HTTP 401).")
    elif answer.status is not None and answer.status < 300:
        what = f"it answers HTTP {answer.status} to one who is not attested."
        yield failed(speech, what, "Take its keys for known; see what listens there, and the resource policy.")
    else:
        what = f"it answers HTTP {answer.status} where a key broker answers 401."
        yield failed(speech, what, "See what else listens there, and the log of trustee-deployment.")


def _trust(check: str, door: Door, answer: Answer, mounted: str | None, now: datetime) -> Iterator[Finding]:
    if not door.tls:
        yield ok(check, "there is none, as declared: keys go over the network in clear.")
        return
    if answer.certificate is None:
        yield unknown(check, "it showed no certificate.")
        return
    if mounted is not None and _print(mounted) != _print(answer.certificate):
        what = "it serves another certificate than the Secret in its namespace holds."
        remedy = "Restart it (kubectl rollout restart deployment trustee-deployment), or see who else listens there."
        yield failed(check, what, remedy)
    left = x509.load_pem_x509_certificate(answer.certificate.encode()).not_valid_after_utc - now
    remedy = f"Make another: ringfence fence keys --rotate --host {door.host}, then pulumi up."
    if left <= timedelta(0):
        yield failed(check, "its certificate has expired.", remedy)
    elif left < SOON:
        yield failed(check, f"its certificate ends in {left.days} days.", remedy)
    elif door.ca is None:
        what = f"its certificate holds for {left.days} more days; whether guests trust its issuer is unknown."
        yield unknown(check, what, "Name the CA with --ca: ringfence fence keys has written it to kbs-ca.pem.")
    else:
        yield ok(check, f"its certificate is for {door.host}, of the given CA, and holds for {left.days} more days.")


def _print(certificate: str) -> str:
    try:
        parsed = x509.load_pem_x509_certificate(certificate.encode())
    except ValueError:
        return ""
    return hashlib.sha256(parsed.tbs_certificate_bytes).hexdigest()
