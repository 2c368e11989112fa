"""A cluster that is named by a context: what cannot be read is told in a line, and asked once."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
import yaml

from components.cluster_view import ClusterAccess, UnreachableError, reading
from components.kbs_live import deployment_reader
from components.kbs_ready import Unseen

SEEN = "correct-horse"


def kubeconfig(folder: Path, port: int) -> Path:
    path = folder / "config"
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {"token": SEEN}}],
    }
    path.write_text(yaml.safe_dump(whole))
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"users: [{{token: {SEEN}", "the kubeconfig is no YAML"),
        (SEEN, "what is read as the kubeconfig is none"),
        (f"- {SEEN}", "what is read as the kubeconfig is none"),
        (f"contexts: {SEEN}\nusers: 1\nclusters: 2\n", "what is read as the kubeconfig is none"),
        ("", "is empty"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_told_and_not_quoted(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config").write_text(text)
    with (
        pytest.raises(UnreachableError) as caught,
        reading(ClusterAccess(context="a", kubeconfig=str(tmp_path / "config"))),
    ):
        pass
    assert str(caught.value).startswith("the cluster a cannot be reached: ")
    assert says in str(caught.value)
    assert SEEN not in str(caught.value)
    with pytest.raises(Unseen):
        deployment_reader("a", str(tmp_path / "config"), "there")()


def test_a_cluster_that_hangs_up_is_asked_once(tmp_path: Path) -> None:
    """Four tries of 15 s each would be a minute in which nothing is said."""
    tries = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                tries.append(1)
                connection.close()

        threading.Thread(target=hang_up, daemon=True).start()
        access = ClusterAccess(context="a", kubeconfig=str(kubeconfig(tmp_path, server.getsockname()[1])))
        with pytest.raises(UnreachableError), reading(access) as view:
            view.nodes()
        assert len(tries) == 1
