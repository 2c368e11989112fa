"""A KBS to knock at: HTTPS on loopback with the key and certificate that the KbsConfig names.

It knows no session, so it gives nothing away: a resource is 401, as the KBS answers who has not attested; any other
path is 404. Requests with a body (auth, attest) are not answered as a KBS would: 501.
"""

from __future__ import annotations

import base64
import ssl
import tempfile
import threading
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sandbox.ports import LOOPBACK
from sandbox.standin import kbs_deployment, kube
from sandbox.standin.behaviour import KbsBehaviour
from sandbox.standin.kbs_reconcile import collection
from sandbox.standin.kube import Kube, Object
from sandbox.standin.loop import Log


class Answer:
    """port: where it listens, None while it does not."""

    def __init__(self, api: Kube, namespace: str, log: Log) -> None:
        self._api, self._namespace, self._log = api, namespace, log
        self._server: ThreadingHTTPServer | None = None
        self._pair: tuple[bytes, bytes] | None = None
        self.port: int | None = None

    def follow(self, behaviour: KbsBehaviour) -> None:
        """Listen while there is an available Deployment and a key pair for it; with a new pair, as new."""
        pair = self._wanted() if behaviour.answers else None
        if pair == self._pair:
            return
        self.close()
        if pair is not None:
            try:
                self._listen(*pair, behaviour.statuses)
            except (ssl.SSLError, OSError) as error:
                self._log.say(f"the key and certificate of the KBS cannot be used: {error}")
        self._pair = pair

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self._server = self._pair = self.port = None

    def _wanted(self) -> tuple[bytes, bytes] | None:
        """(key, certificate) as PEM."""
        found = self._api.get(kube.deployments(self._namespace), kbs_deployment.NAME)
        configs = self._api.all(collection(self._namespace))
        if not configs or not (found or {}).get("status", {}).get("availableReplicas"):
            return None
        spec = configs[0]["spec"]
        names = spec.get("kbsHttpsKeySecretName"), spec.get("kbsHttpsCertSecretName")
        config = self._api.get(kube.config_maps(self._namespace), spec.get("kbsConfigMapName", ""))
        try:
            http = tomllib.loads((config or {})["data"]["kbs-config.toml"])["http_server"]
            key, certificate = (
                self._secret(name, str(http[entry]), mount)
                for name, entry, mount in zip(
                    names, ("private_key", "certificate"), ("/etc/https-key/", "/etc/https-cert/"), strict=True
                )
            )
        except (KeyError, tomllib.TOMLDecodeError) as error:
            self._log.say(f"the KBS cannot serve HTTPS: {error!r}")
            return None
        return key, certificate

    def _secret(self, name: str | None, path: str, mount: str) -> bytes:
        """KeyError unless the path in kbs-config.toml leads to a key of the mounted Secret."""
        if not path.startswith(mount):
            raise KeyError(path)
        found: Object = self._api.get(kube.secrets(self._namespace), name or "") or {}
        return base64.b64decode(found["data"][path.removeprefix(mount)])

    def _listen(self, key: bytes, certificate: bytes, statuses: Mapping[str, int]) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory(prefix="ringfence-kbs-") as folder:
            files = Path(folder) / "key", Path(folder) / "certificate"
            for file, text in zip(files, (key, certificate), strict=True):
                file.touch(mode=0o600)
                file.write_bytes(text)
            context.load_cert_chain(certfile=files[1], keyfile=files[0])

        class Handler(BaseHTTPRequestHandler):
            # A client that says nothing must not hold its thread for ever.
            timeout = 5

            def do_GET(self) -> None:
                status = next((code for start, code in statuses.items() if self.path.startswith(start)), 404)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def finish_request(self, request: object, address: object) -> None:
                # Here, in the connection's own thread: a client that does not finish its handshake keeps nobody else.
                with suppress(OSError), context.wrap_socket(request, server_side=True) as secured:  # type: ignore[arg-type]
                    super().finish_request(secured, address)

        self._server = Server((LOOPBACK, 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
