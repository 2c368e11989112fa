"""The KBS's Deployment is read as the API server has it; a cluster that cannot be asked is not one without it."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from components.kbs_live import deployment_reader
from components.kbs_ready import Unseen

PATH = "/apis/apps/v1/namespaces/kbs/deployments/trustee-deployment"
DEPLOYMENT = {"metadata": {"generation": 3}, "spec": {"template": {"spec": {"volumes": None}}}}


@contextmanager
def serving(status: int, answer: object) -> Iterator[int]:
    """The port of an API server that answers so at the Deployment's path, and 500 elsewhere."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == PATH else 500)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def kubeconfig(folder: Path, port: int) -> str:
    file = folder / "kubeconfig"
    known = {
        "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    }
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **known}))
    return str(file)


def test_the_deployment_is_given_as_the_api_server_has_it(tmp_path: Path) -> None:
    with serving(200, DEPLOYMENT) as port:
        assert deployment_reader("here", kubeconfig(tmp_path, port), "kbs")() == DEPLOYMENT


def test_one_that_is_not_there_is_none(tmp_path: Path) -> None:
    with serving(404, {"message": "not found"}) as port:
        assert deployment_reader("here", kubeconfig(tmp_path, port), "kbs")() is None


def test_one_that_may_not_be_read_is_not_taken_for_missing(tmp_path: Path) -> None:
    with serving(403, {"message": "deployments are forbidden"}) as port, pytest.raises(Unseen) as caught:
        deployment_reader("here", kubeconfig(tmp_path, port), "kbs")()
    assert str(caught.value) == (
        "its Deployment cannot be read: the API server of here refuses: 403 deployments are forbidden"
    )


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unseen, match="its Deployment cannot be read: the cluster here cannot be reached"):
            deployment_reader("here", kubeconfig(tmp_path, taken.getsockname()[1]), "kbs")()
